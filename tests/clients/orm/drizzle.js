// Drizzle.

const { drizzle } = require('drizzle-orm/mysql2')
const { bigint, datetime, int, mysqlTable, varchar } = require('drizzle-orm/mysql-core')
const { eq, inArray, sql } = require('drizzle-orm')
const mysql = require('mysql2/promise')
const { connection, introduce, run, main } = require('./talk')

main(async () => {
  const to = await introduce('Drizzle', 'drizzle-orm', 'mysql2', `
    CREATE TABLE \`posts\` (\`id\` int AUTO_INCREMENT NOT NULL, \`title\` varchar(100), \`views\` int NOT NULL DEFAULT 0,
    \`likes\` bigint NOT NULL DEFAULT 0, \`updated_at\` datetime(3), CONSTRAINT \`posts_id\` PRIMARY KEY(\`id\`))`,
  ['views', 'likes'], ['updated_at'])
  const plain = {
    id: int().autoincrement().primaryKey(), title: varchar({ length: 100 }), views: int().notNull().default(0),
    likes: bigint({ mode: 'number' }).notNull().default(0),
  }
  const posts = mysqlTable('posts', plain)
  const touchedPosts = mysqlTable('posts', {
    ...plain, updatedAt: datetime('updated_at', { fsp: 3 }).$onUpdate(() => new Date()),
  })
  const db = drizzle(mysql.createPool(connection(to)))
  const increment = db.update(posts).set({ views: sql`${posts.views} + ${sql.placeholder('n')}` })
    .where(eq(posts.id, sql.placeholder('id'))).prepare()
  await run([
    'await db.update(posts).set({ views: sql`${posts.views} + 1` }).where(eq(posts.id, 1))',
    'await db.update(posts).set({ likes: sql`${posts.likes} - ${2}` }).where(inArray(posts.id, [1, 2]))',
    'await db.update(touchedPosts).set({ views: sql`${touchedPosts.views} + 1` }).where(eq(touchedPosts.id, 3))',
    'await increment.execute({ id: 2, n: 1 })',
  ], { db, posts, touchedPosts, increment, eq, inArray, sql })
})
