// TypeORM: repositories, whose saves are transactions, and updates in autocommit.

const { DataSource, EntitySchema } = require('typeorm')
const { DAYS, POSTS, WORKERS, inCrowd, main, refused, say, times } = require('./stage')

const Post = new EntitySchema({
  name: 'Post',
  tableName: 'posts',
  columns: {
    id: { type: 'int', primary: true, generated: true },
    title: { type: 'varchar', length: 100 },
    views: { type: 'int', default: 0 },
    likes: { type: 'bigint', default: 0 },
    stock: { type: 'int', unsigned: true, default: 0 },
    updatedAt: { name: 'updated_at', type: 'datetime', precision: 6, updateDate: true },
  },
  relations: { comments: { type: 'one-to-many', target: 'Comment', inverseSide: 'post' } },
})
const Comment = new EntitySchema({
  name: 'Comment',
  tableName: 'comments',
  columns: { id: { type: 'int', primary: true, generated: true }, text: { type: 'varchar', length: 100 } },
  relations: {
    post: { type: 'many-to-one', target: 'Post', joinColumn: { name: 'post_id' }, inverseSide: 'comments' },
  },
})
const SignUp = new EntitySchema({
  name: 'SignUp',
  tableName: 'sign_ups',
  columns: { day: { type: 'date', primary: true }, hits: { type: 'int', default: 0 } },
})

main('typeorm', async ({ host, port, user, password, database }) => {
  const connect = () => new DataSource({
    type: 'mysql', host, port, username: user, password, database, entities: [Post, Comment, SignUp],
    poolSize: WORKERS, timezone: 'Z',
  }).initialize()
  let source = await connect()
  const posts = () => source.getRepository(Post)
  const addView = async (id) => (await posts().increment({ id }, 'views', 1)).affected
  const sell = async (id) => (await posts().createQueryBuilder().update().set({ stock: () => 'stock - 1' })
    .where('id = :id AND stock >= 1', { id }).execute()).affected
  const steps = {
    async views() {
      say(...await times(6, () => addView(1)))
    },
    async likes() {
      for (let i = 0; i < 3; i += 1) {
        say((await posts().update({ id: 2 }, { likes: () => 'likes + 2' })).affected)
        say((await posts().findOneBy({ id: 2 })).likes)
      }
    },
    async transactions() {
      for (const number of [0, 1]) {
        await source.transaction(async (manager) => {
          await manager.save(Comment, { post: { id: 3 }, text: `comment ${number}` })
          await manager.increment(Post, { id: 3 }, 'likes', 10)
        })
      }
      const runner = source.createQueryRunner()
      await runner.startTransaction()
      await runner.manager.increment(Post, { id: 3 }, 'likes', 100)
      say((await runner.manager.findOneBy(Post, { id: 3 })).likes)
      await runner.rollbackTransaction()
      await runner.release()
      const post = await posts().findOne({ where: { id: 3 }, relations: { comments: true }, order: { comments: { id: 'ASC' } } })
      say(post.likes, post.comments.map((comment) => comment.text))
    },
    async stock() {
      say(...await times(8, () => sell(1)))
    },
    async sign_ups() {
      for (const day of DAYS) {
        // `upsert` and `orUpdate` set columns to what is given, and cannot add.
        const upsert = 'INSERT INTO sign_ups (day, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1'
        say((await source.query(upsert, [day])).affectedRows)
      }
    },
    async sequence() {
      for (let i = 0; i < 3; i += 1) {
        say((await source.query('UPDATE seq SET id = LAST_INSERT_ID(id + 1)')).insertId)
      }
    },
    async edit() {
      const post = await posts().findOneBy({ id: 4 })
      post.title = 'Grüße, 漢字 😀'
      await posts().save(post)
    },
    async reads() {
      const popular = await posts().find({ order: { views: 'DESC', id: 'ASC' }, take: 3 })
      say(...popular.map(({ id, title, views, likes, stock }) => [id, title, views, likes, stock]))
      say(await posts().count(), await posts().sum('views'), await posts().maximum('likes'))
      const liked = await posts().createQueryBuilder('post').where('post.likes > 1').orderBy('post.id').getMany()
      say(...liked.map((post) => post.id))
      const counted = await posts().createQueryBuilder('post').leftJoin('post.comments', 'comment')
        .select(['post.id AS id', 'post.views AS views', 'COUNT(comment.id) AS count'])
        .groupBy('post.id, post.views').orderBy('post.id').getRawMany()
      say(...counted.map(({ id, views, count }) => [id, views, count]))
      say(...(await source.getRepository(SignUp).find({ order: { day: 'ASC' } })).map(({ day, hits }) => [day, hits]))
    },
    async errors() {
      await refused(() => posts().insert({ id: 1, title: 'again' }))
      await refused(() => posts().decrement({ id: 2 }, 'stock', 1))
      await refused(() => source.query('SELECT views, nothing FROM posts'))
    },
    async reconnect() {
      await source.query('SET @mine = 1')
      await source.destroy()
      source = await connect()
      say(...Object.values((await source.query('SELECT @mine, views FROM posts WHERE id = 1'))[0]))
    },
    async crowd() {
      say(await inCrowd(() => addView(3), 10), await inCrowd(() => sell(3), 5))
    },
  }
  const make = async () => {
    await source.synchronize()
    await posts().insert(POSTS)
  }
  return { make, steps, end: () => source.destroy() }
})
