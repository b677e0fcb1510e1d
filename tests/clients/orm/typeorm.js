// TypeORM, with an update date that MySQL keeps as well.

const { DataSource, EntitySchema } = require('typeorm')
const { introduce, run, main } = require('./talk')

main(async () => {
  const to = await introduce('TypeORM', 'typeorm', 'mysql2', `
    CREATE TABLE \`posts\` (\`id\` int NOT NULL AUTO_INCREMENT, \`title\` varchar(100) NOT NULL, \`views\` int NOT NULL
    DEFAULT '0', \`likes\` bigint NOT NULL DEFAULT '0', \`updatedAt\` datetime(6) NOT NULL DEFAULT
    CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), PRIMARY KEY (\`id\`)) ENGINE=InnoDB`,
  ['views', 'likes'], ['updatedAt'])
  const Post = new EntitySchema({
    name: 'Post',
    tableName: 'posts',
    columns: {
      id: { type: Number, primary: true, generated: true },
      title: { type: String, length: 100 },
      views: { type: 'int', default: 0 },
      likes: { type: 'bigint', default: 0 },
      updatedAt: { type: 'datetime', precision: 6, updateDate: true },
    },
  })
  const source = await new DataSource({
    type: 'mysql', host: to.host, port: to.port, username: to.user, password: to.password, database: to.schema,
    entities: [Post],
  }).initialize()
  const posts = source.getRepository(Post)
  await run([
    `await posts.increment({ id: 1 }, 'views', 1)`,
    `await posts.decrement({ title: 'post 2' }, 'likes', 2)`,
    `
    await posts.createQueryBuilder().update().set({ views: () => 'views + 1' })
      .where('id = :id', { id: 3 }).execute()`,
    `
    await posts.createQueryBuilder().update().set({ likes: () => 'likes + :n' }).setParameter('n', 5)
      .whereInIds([1, 2]).execute()`,
    `await posts.update({ id: 2 }, { views: () => 'views + 1' })`,
  ], { posts })
})
