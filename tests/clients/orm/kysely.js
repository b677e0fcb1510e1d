// Kysely.

const { Kysely, MysqlDialect, sql } = require('kysely')
const mysql = require('mysql2')
const { connection, introduce, run, main } = require('./talk')

main(async () => {
  const to = await introduce('Kysely', 'kysely', 'mysql2', `
    create table \`posts\` (\`id\` integer primary key auto_increment, \`title\` varchar(100), \`views\` integer default 0
    not null, \`likes\` bigint default 0 not null, \`updated_at\` timestamp null)`, ['views', 'likes'], ['updated_at'])
  const db = new Kysely({
    dialect: new MysqlDialect({
      pool: mysql.createPool(connection(to)),
    }),
  })
  await run([
    `await db.updateTable('posts').set((eb) => ({ views: eb('views', '+', 1) })).where('id', '=', 1).execute()`,
    `
    await db.updateTable('posts').set({ likes: sql\`likes - 2\` })
      .where('id', 'in', [1, 2]).execute()`,
    `
    await db.updateTable('posts').set((eb) => ({ views: eb('views', '+', 1), updated_at: new Date() }))
      .where('id', '=', 3).executeTakeFirst()`,
  ], { db, sql })
})
