// MikroORM.

const { MikroORM, EntitySchema, raw } = require('@mikro-orm/mysql')
const { introduce, run, main } = require('./talk')

main(async () => {
  const to = await introduce('MikroORM', '@mikro-orm/mysql', 'mysql2', `
    create table \`posts\` (\`id\` int unsigned not null auto_increment primary key, \`title\` varchar(100) not null,
    \`views\` int not null default 0, \`likes\` bigint not null default 0, \`updated_at\` datetime(3) null)
    default character set utf8mb4 engine = InnoDB`, ['views', 'likes'], ['updated_at'])
  const Post = new EntitySchema({
    name: 'Post',
    tableName: 'posts',
    properties: {
      id: { type: 'number', primary: true },
      title: { type: 'string', length: 100 },
      views: { type: 'number', default: 0 },
      likes: { type: 'bigint', default: 0 },
      updatedAt: { type: 'datetime', length: 3, nullable: true, onUpdate: () => new Date() },
    },
  })
  const orm = await MikroORM.init({
    host: to.host, port: to.port, user: to.user, password: to.password, dbName: to.schema, entities: [Post],
  })
  const em = () => orm.em.fork()
  await run([
    `await em().nativeUpdate('Post', { id: 1 }, { views: raw('views + 1') })`,
    `await em().nativeUpdate('Post', { id: [1, 2] }, { likes: raw('likes - ?', [2]) })`,
    `await em().createQueryBuilder('Post').update({ views: raw('views + 1') }).where({ id: 2 }).execute()`,
    `
    const manager = em()
    const post = await manager.findOneOrFail('Post', 3)
    post.views = raw('views + 1')
    await manager.flush()`,
  ], { em, raw })
  await orm.close()
})
