// Sequelize, with its timestamps.

const { Sequelize, DataTypes, literal } = require('sequelize')
const { introduce, run, main } = require('./talk')

main(async () => {
  const to = await introduce('Sequelize', 'sequelize', 'mysql2', `
    CREATE TABLE \`posts\` (\`id\` INTEGER NOT NULL auto_increment , \`title\` VARCHAR(100), \`views\` INTEGER NOT NULL
    DEFAULT 0, \`likes\` BIGINT NOT NULL DEFAULT 0, \`createdAt\` DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    \`updatedAt\` DATETIME NOT NULL, PRIMARY KEY (\`id\`)) ENGINE=InnoDB`, ['views', 'likes'], ['updatedAt'])
  const sequelize = new Sequelize(to.schema, to.user, to.password,
    { host: to.host, port: to.port, dialect: 'mysql', logging: false })
  const Post = sequelize.define('Post', {
    title: DataTypes.STRING(100), views: DataTypes.INTEGER, likes: DataTypes.BIGINT,
  }, { tableName: 'posts' })
  await run([
    `await Post.increment('views', { where: { id: 1 } })`,
    `await Post.increment({ views: 1, likes: 2 }, { where: { id: [1, 2] } })`,
    `
    const post = await Post.findByPk(2)
    await post.decrement('views', { by: 3 })`,
    `await Post.increment('views', { where: { id: 3 }, silent: true })`,
    `await Post.update({ views: literal('views + 1') }, { where: { id: 1 } })`,
    `await Post.update({ likes: literal('likes + 1') }, { where: { id: 1 }, silent: true })`,
  ], { Post, literal })
})
