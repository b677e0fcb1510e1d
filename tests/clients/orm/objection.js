// Objection, on Knex.

const connect = require('knex')
const { Model, raw } = require('objection')
const { connection, introduce, run, main } = require('./talk')

main(async () => {
  const to = await introduce('Objection', 'objection', 'mysql2', `
    create table \`posts\` (\`id\` int unsigned not null auto_increment primary key, \`title\` varchar(100), \`views\` int
    not null default 0, \`likes\` bigint not null default 0, \`updated_at\` datetime null)`,
  ['views', 'likes'], ['updated_at'])
  Model.knex(connect({ client: 'mysql2', connection: connection(to) }))
  class Post extends Model {
    static tableName = 'posts'
  }
  class TouchedPost extends Post {
    $beforeUpdate() {
      this.updated_at = new Date()
    }
  }
  await run([
    `await Post.query().findById(1).increment('views', 1)`,
    `await Post.query().whereIn('id', [1, 2]).decrement('likes', 2)`,
    `await Post.query().findById(2).patch({ views: raw('views + 1') })`,
    `
    const post = await TouchedPost.query().findById(3)
    await post.$query().patch({ views: raw('views + ?', 1) })`,
  ], { Post, TouchedPost, raw })
})
