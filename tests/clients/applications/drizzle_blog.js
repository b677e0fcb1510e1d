// Drizzle: statements that the server prepares, and transactions where they are asked for.

const mysql = require('mysql2/promise')
const { drizzle } = require('drizzle-orm/mysql2')
const { bigint, date, datetime, int, mysqlTable, varchar } = require('drizzle-orm/mysql-core')
const { and, asc, count, desc, eq, gt, gte, max, sql, sum } = require('drizzle-orm')
const { DAYS, POSTS, WORKERS, inCrowd, main, refused, say, times } = require('./stage')

const posts = mysqlTable('posts', {
  id: int().autoincrement().primaryKey(),
  title: varchar({ length: 100 }),
  views: int().notNull().default(0),
  likes: bigint({ mode: 'number' }).notNull().default(0),
  stock: int({ unsigned: true }).notNull().default(0),
  updatedAt: datetime('updated_at', { fsp: 3 }).$onUpdate(() => new Date()),
})
const comments = mysqlTable('comments', {
  id: int().autoincrement().primaryKey(), postId: int('post_id').notNull().references(() => posts.id), text: varchar({ length: 100 }),
})
const signUps = mysqlTable('sign_ups', { day: date({ mode: 'string' }).primaryKey(), hits: int().notNull().default(0) })

main('drizzle-orm', async ({ host, port, user, password, database }) => {
  const connect = () => mysql.createPool({ host, port, user, password, database, connectionLimit: WORKERS, timezone: 'Z' })
  let pool = connect()
  let db = drizzle(pool)
  const affected = async (statement) => (await statement)[0].affectedRows
  const addView = (id) => affected(db.update(posts).set({ views: sql`${posts.views} + 1` }).where(eq(posts.id, id)))
  const sell = (id) => affected(
    db.update(posts).set({ stock: sql`${posts.stock} - 1` }).where(and(eq(posts.id, id), gte(posts.stock, 1))))
  const add = (to, likes) => to.update(posts).set({ likes: sql`${posts.likes} + ${likes}` }).where(eq(posts.id, 3))
  const steps = {
    async views() {
      say(...await times(6, () => addView(1)))
    },
    async likes() {
      const like = db.update(posts).set({ likes: sql`${posts.likes} + ${sql.placeholder('n')}` })
        .where(eq(posts.id, sql.placeholder('id'))).prepare()
      for (let i = 0; i < 3; i += 1) {
        say((await like.execute({ id: 2, n: 2 }))[0].affectedRows)
      }
    },
    async transactions() {
      for (const number of [0, 1]) {
        await db.transaction(async (transaction) => {
          await transaction.insert(comments).values({ postId: 3, text: `comment ${number}` })
          await add(transaction, 10)
        })
      }
      await db.transaction(async (transaction) => {
        await add(transaction, 100)
        say((await transaction.select().from(posts).where(eq(posts.id, 3)))[0].likes)
        transaction.rollback()
      }).catch((error) => say(error.message))
      const written = await db.select().from(posts).innerJoin(comments, eq(comments.postId, posts.id))
        .where(eq(posts.id, 3)).orderBy(comments.id)
      say(...written.map((row) => [row.posts.likes, row.comments.text]))
    },
    async stock() {
      say(...await times(8, () => sell(1)))
    },
    async sign_ups() {
      for (const day of DAYS) {
        say(await affected(db.insert(signUps).values({ day, hits: 1 })
          .onDuplicateKeyUpdate({ set: { hits: sql`${signUps.hits} + 1` } })))
      }
    },
    async sequence() {
      for (let i = 0; i < 3; i += 1) {
        say((await db.execute(sql`UPDATE seq SET id = LAST_INSERT_ID(id + 1)`))[0].insertId)
      }
    },
    async edit() {
      say(await affected(db.update(posts).set({ title: 'Grüße, 漢字 😀' }).where(eq(posts.id, 4))))
    },
    async reads() {
      const popular = await db.select().from(posts).orderBy(desc(posts.views), asc(posts.id)).limit(3)
      say(...popular.map(({ id, title, views, likes, stock }) => [id, title, views, likes, stock]))
      const [all] = await db.select({ count: count(), views: sum(posts.views), likes: max(posts.likes) }).from(posts)
      say(...Object.values(all))
      say(...(await db.select().from(posts).where(gt(posts.likes, 1)).orderBy(posts.id)).map((post) => post.id))
      const counted = await db.select({ id: posts.id, views: posts.views, count: count(comments.id) }).from(posts)
        .leftJoin(comments, eq(comments.postId, posts.id)).groupBy(posts.id, posts.views).orderBy(posts.id)
      say(...counted.map(Object.values))
      say(...(await db.select().from(signUps).orderBy(signUps.day)).map(Object.values))
    },
    async errors() {
      await refused(() => db.insert(posts).values({ id: 1, title: 'again' }))
      await refused(() => db.update(posts).set({ stock: sql`${posts.stock} - 1` }).where(eq(posts.id, 2)))
      await refused(() => db.execute(sql`SELECT views, nothing FROM posts`))
    },
    async reconnect() {
      await db.execute(sql`SET @mine = 1`)
      await pool.end()
      pool = connect()
      db = drizzle(pool)
      say(...Object.values((await db.execute(sql`SELECT @mine, views FROM posts WHERE id = 1`))[0][0]))
    },
    async crowd() {
      say(await inCrowd(() => addView(3), 10), await inCrowd(() => sell(3), 5))
    },
  }
  // What its tool drizzle-kit writes for these tables.
  const make = async () => {
    await pool.query(`CREATE TABLE \`posts\` (\`id\` int AUTO_INCREMENT NOT NULL, \`title\` varchar(100),
      \`views\` int NOT NULL DEFAULT 0, \`likes\` bigint NOT NULL DEFAULT 0, \`stock\` int unsigned NOT NULL DEFAULT 0,
      \`updated_at\` datetime(3), CONSTRAINT \`posts_id\` PRIMARY KEY(\`id\`))`)
    await pool.query(`CREATE TABLE \`comments\` (\`id\` int AUTO_INCREMENT NOT NULL, \`post_id\` int NOT NULL,
      \`text\` varchar(100), CONSTRAINT \`comments_id\` PRIMARY KEY(\`id\`))`)
    await pool.query(`ALTER TABLE \`comments\` ADD CONSTRAINT \`comments_post_id_posts_id_fk\` FOREIGN KEY (\`post_id\`)
      REFERENCES \`posts\`(\`id\`) ON DELETE no action ON UPDATE no action`)
    await pool.query(`CREATE TABLE \`sign_ups\` (\`day\` date NOT NULL, \`hits\` int NOT NULL DEFAULT 0,
      CONSTRAINT \`sign_ups_day\` PRIMARY KEY(\`day\`))`)
    await db.insert(posts).values(POSTS)
  }
  return { make, steps, end: () => pool.end() }
})
