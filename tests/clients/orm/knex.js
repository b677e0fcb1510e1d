// Knex.

const connect = require('knex')
const { connection, introduce, run, main } = require('./talk')

main(async () => {
  const to = await introduce('Knex', 'knex', 'mysql2', `
    create table \`posts\` (\`id\` int unsigned not null auto_increment primary key, \`title\` varchar(100), \`views\` int
    not null default 0, \`likes\` bigint not null default 0, \`created_at\` timestamp not null default
    CURRENT_TIMESTAMP, \`updated_at\` timestamp not null default CURRENT_TIMESTAMP)`,
  ['views', 'likes'], ['updated_at'])
  const knex = connect({ client: 'mysql2', connection: connection(to) })
  await run([
    `await knex('posts').where('id', 1).increment('views')`,
    `await knex('posts').whereIn('id', [1, 2]).increment({ views: 1, likes: 10 })`,
    `await knex('posts').where({ id: 2 }).decrement('likes', 5)`,
    `await knex('posts').where({ id: 3 }).update({ views: knex.raw('?? + ?', ['views', 1]) })`,
    `await knex('posts').where({ id: 3 }).increment('views').update({ updated_at: knex.fn.now() })`,
    `await knex('posts').where({ id: 3 }).increment('views').update({ updated_at: new Date() })`,
  ], { knex })
})
