// Knex: autocommit, and transactions where they are asked for.

const build = require('knex')
const { DAYS, POSTS, WORKERS, inCrowd, main, refused, say, times } = require('./stage')

main('knex', async ({ host, port, user, password, database }) => {
  const connect = () => build({
    client: 'mysql2', connection: { host, port, user, password, database, timezone: 'Z' }, pool: { max: WORKERS },
  })
  let knex = connect()
  const addView = (id) => knex('posts').where({ id }).increment('views')
  const sell = (id) => knex('posts').where({ id }).andWhere('stock', '>=', 1).decrement('stock')
  const steps = {
    async views() {
      say(...await times(6, () => addView(1)))
    },
    async likes() {
      for (let i = 0; i < 3; i += 1) {
        say(await knex('posts').where({ id: 2 }).increment('likes', 2).update({ updated_at: knex.fn.now() }))
      }
    },
    async transactions() {
      for (const number of [0, 1]) {
        await knex.transaction(async (transaction) => {
          await transaction('comments').insert({ post_id: 3, text: `comment ${number}` })
          await transaction('posts').where({ id: 3 }).increment('likes', 10)
        })
      }
      const transaction = await knex.transaction()
      await transaction('posts').where({ id: 3 }).increment('likes', 100)
      say((await transaction('posts').where({ id: 3 }).first()).likes)
      await transaction.rollback()
      const { likes } = await knex('posts').where({ id: 3 }).first('likes')
      say(likes, await knex('comments').where({ post_id: 3 }).orderBy('id').pluck('text'))
    },
    async stock() {
      say(...await times(8, () => sell(1)))
    },
    async sign_ups() {
      for (const day of DAYS) {
        say(...await knex('sign_ups').insert({ day, hits: 1 }).onConflict('day').merge({ hits: knex.raw('hits + 1') }))
      }
    },
    async sequence() {
      for (let i = 0; i < 3; i += 1) say((await knex.raw('UPDATE seq SET id = LAST_INSERT_ID(id + 1)'))[0].insertId)
    },
    async edit() {
      await knex('posts').where({ id: 4 }).update({ title: 'Grüße, 漢字 😀', updated_at: knex.fn.now() })
    },
    async reads() {
      const popular = await knex('posts').orderBy([{ column: 'views', order: 'desc' }, 'id']).limit(3)
      say(...popular.map(({ id, title, views, likes, stock }) => [id, title, views, likes, stock]))
      say(...Object.values(await knex('posts').count('* as count').sum('views as views').max('likes as likes').first()))
      say(...await knex('posts').where('likes', '>', 1).orderBy('id').pluck('id'))
      const counted = await knex('posts').leftJoin('comments', 'comments.post_id', 'posts.id')
        .groupBy('posts.id', 'posts.views').orderBy('posts.id')
        .select('posts.id', 'posts.views').count('comments.id as count')
      say(...counted.map(({ id, views, count }) => [id, views, count]))
      say(...(await knex('sign_ups').orderBy('day')).map(({ day, hits }) => [day, hits]))
    },
    async errors() {
      await refused(() => knex('posts').insert({ id: 1, title: 'again' }))
      await refused(() => knex('posts').where({ id: 2 }).decrement('stock'))
      await refused(() => knex('posts').select('views', 'nothing'))
    },
    async reconnect() {
      await knex.raw('SET @mine = 1')
      await knex.destroy()
      knex = connect()
      say(...Object.values((await knex.raw('SELECT @mine, views FROM posts WHERE id = 1'))[0][0]))
    },
    async crowd() {
      say(await inCrowd(() => addView(3), 10), await inCrowd(() => sell(3), 5))
    },
  }
  const make = async () => {
    await knex.schema.createTable('posts', (table) => {
      table.increments('id')
      table.string('title', 100)
      table.integer('views').notNullable().defaultTo(0)
      table.bigInteger('likes').notNullable().defaultTo(0)
      table.integer('stock').unsigned().notNullable().defaultTo(0)
      table.timestamp('updated_at').notNullable().defaultTo(knex.fn.now())
    })
    await knex.schema.createTable('comments', (table) => {
      table.increments('id')
      table.integer('post_id').unsigned().notNullable().references('posts.id')
      table.string('text', 100)
    })
    await knex.schema.createTable('sign_ups', (table) => {
      table.date('day').primary()
      table.integer('hits').notNullable().defaultTo(0)
    })
    await knex('posts').insert(POSTS)
  }
  return { make, steps, end: () => knex.destroy() }
})
