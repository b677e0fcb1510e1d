// Sequelize: autocommit, and transactions where they are asked for.

const { Sequelize, DataTypes, Op, QueryTypes, col, fn, literal } = require('sequelize')
const { DAYS, POSTS, WORKERS, inCrowd, main, refused, say, times } = require('./stage')

main('sequelize', async ({ host, port, user, password, database }) => {
  const connect = () => new Sequelize(database, user, password, {
    host, port, dialect: 'mysql', logging: false, pool: { max: WORKERS },
  })
  const define = (sequelize) => {
    const Post = sequelize.define('Post', {
      title: DataTypes.STRING(100),
      views: { type: DataTypes.INTEGER, allowNull: false, defaultValue: 0 },
      likes: { type: DataTypes.BIGINT, allowNull: false, defaultValue: 0 },
      stock: { type: DataTypes.INTEGER.UNSIGNED, allowNull: false, defaultValue: 0 },
    }, { tableName: 'posts', updatedAt: 'updated_at', createdAt: false })
    const Comment = sequelize.define('Comment', { text: DataTypes.STRING(100) },
      { tableName: 'comments', timestamps: false })
    Post.hasMany(Comment, { foreignKey: 'post_id', as: 'comments' })
    const SignUp = sequelize.define('SignUp', {
      day: { type: DataTypes.DATEONLY, primaryKey: true },
      hits: { type: DataTypes.INTEGER, allowNull: false, defaultValue: 0 },
    }, { tableName: 'sign_ups', timestamps: false })
    return { Post, Comment, SignUp }
  }
  let sequelize = connect()
  let { Post, Comment, SignUp } = define(sequelize)
  // `increment` says nothing of the rows, and `update` does.
  const addView = async (id) => (await Post.update({ views: literal('views + 1') }, { where: { id } }))[0]
  const sell = async (id) => (await Post.update(
    { stock: literal('stock - 1') }, { where: { id, stock: { [Op.gte]: 1 } } }))[0]
  const steps = {
    async views() {
      await times(3, () => Post.increment('views', { where: { id: 1 } }))
      say(...await times(3, () => addView(1)))
    },
    async likes() {
      for (let i = 0; i < 3; i += 1) {
        const post = await Post.findByPk(2)
        await post.increment('likes', { by: 2 })
        await post.reload()
        say(post.likes)
      }
    },
    async transactions() {
      for (const number of [0, 1]) {
        await sequelize.transaction(async (transaction) => {
          await Comment.create({ post_id: 3, text: `comment ${number}` }, { transaction })
          await Post.increment({ likes: 10 }, { where: { id: 3 }, transaction })
        })
      }
      const transaction = await sequelize.transaction()
      await Post.increment({ likes: 100 }, { where: { id: 3 }, transaction })
      say((await Post.findByPk(3, { transaction })).likes)
      await transaction.rollback()
      const post = await Post.findByPk(3, { include: 'comments' })
      say(post.likes, post.comments.map((comment) => comment.text))
    },
    async stock() {
      say(...await times(8, () => sell(1)))
    },
    async sign_ups() {
      for (const day of DAYS) {
        const [signed, isNew] = await SignUp.findOrCreate({ where: { day }, defaults: { hits: 1 } })
        if (!isNew) await signed.increment('hits')
        await signed.reload()
        say(isNew, signed.hits)
      }
    },
    async sequence() {
      for (let i = 0; i < 3; i += 1) {
        const [id] = await sequelize.query('UPDATE seq SET id = LAST_INSERT_ID(id + 1)', { type: QueryTypes.INSERT })
        say(id)
      }
    },
    async edit() {
      const post = await Post.findByPk(4)
      post.title = 'Grüße, 漢字 😀'
      await post.save()
    },
    async reads() {
      const popular = await Post.findAll({ order: [['views', 'DESC'], 'id'], limit: 3 })
      say(...popular.map(({ id, title, views, likes, stock }) => [id, title, views, likes, stock]))
      say(await Post.count(), await Post.sum('views'), await Post.max('likes'))
      say(...(await Post.findAll({ where: { likes: { [Op.gt]: 1 } }, order: ['id'] })).map((post) => post.id))
      const counted = await Post.findAll({
        attributes: ['id', 'views', [fn('COUNT', col('comments.id')), 'count']],
        include: [{ model: Comment, as: 'comments', attributes: [] }], group: ['Post.id', 'Post.views'], order: ['id'],
      })
      say(...counted.map((post) => [post.id, post.views, post.get('count')]))
      say(...(await SignUp.findAll({ order: ['day'] })).map(({ day, hits }) => [day, hits]))
    },
    async errors() {
      await refused(() => Post.create({ id: 1, title: 'again' }))
      await refused(() => Post.increment('stock', { by: -1, where: { id: 2 } }))
      await refused(() => sequelize.query('SELECT views, nothing FROM posts'))
    },
    async reconnect() {
      await sequelize.query('SET @mine = 1')
      await sequelize.close()
      sequelize = connect();
      ({ Post, Comment, SignUp } = define(sequelize))
      say(...Object.values((await sequelize.query('SELECT @mine, views FROM posts WHERE id = 1'))[0][0]))
    },
    async crowd() {
      say(await inCrowd(() => addView(3), 10), await inCrowd(() => sell(3), 5))
    },
  }
  const make = async () => {
    await sequelize.sync()
    await Post.bulkCreate(POSTS)
  }
  return { make, steps, end: () => sequelize.close() }
})
