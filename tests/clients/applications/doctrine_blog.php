<?php
// Doctrine ORM on PDO: flushes, which are transactions, and DQL in autocommit; PDO writes the parameters into the text.

require_once __DIR__ . '/stage.php';
require_once 'Doctrine/ORM/autoload.php';

use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping as ORM;
use Doctrine\ORM\Mapping\Driver\AttributeDriver;
use Doctrine\ORM\Tools\SchemaTool;

$place = asked(Doctrine\ORM\Version::VERSION);

#[ORM\Entity]
#[ORM\Table(name: 'posts')]
class Post
{
    #[ORM\Id, ORM\Column, ORM\GeneratedValue(strategy: 'NONE')]
    public int $id;
    #[ORM\Column(length: 100)]
    public string $title;
    #[ORM\Column]
    public int $views = 0;
    #[ORM\Column(type: 'bigint')]
    public string $likes = '0';
    #[ORM\Column(options: ['unsigned' => true])]
    public int $stock = 0;
    #[ORM\Column(name: 'updated_at', type: 'datetime')]
    public DateTime $updatedAt;
    #[ORM\OneToMany(targetEntity: Comment::class, mappedBy: 'post')]
    public $comments;
}

#[ORM\Entity]
#[ORM\Table(name: 'comments')]
class Comment
{
    #[ORM\Id, ORM\Column, ORM\GeneratedValue]
    public int $id;
    #[ORM\ManyToOne(targetEntity: Post::class, inversedBy: 'comments')]
    #[ORM\JoinColumn(nullable: false)]
    public Post $post;
    #[ORM\Column(length: 100)]
    public string $text;
}

#[ORM\Entity]
#[ORM\Table(name: 'sign_ups')]
class SignUp
{
    #[ORM\Id, ORM\Column(type: 'date')]
    public DateTime $day;
    #[ORM\Column(options: ['default' => 0])]
    public int $hits = 0;
}

$configuration = new Configuration();
$configuration->setMetadataDriverImpl(new AttributeDriver([__DIR__]));
$configuration->setProxyDir(sys_get_temp_dir());
$configuration->setProxyNamespace('Proxies');
$configuration->setAutoGenerateProxyClasses(Doctrine\Common\Proxy\AbstractProxyFactory::AUTOGENERATE_EVAL);
$em = EntityManager::create(['driver' => 'pdo_mysql', 'host' => $place['host'], 'port' => (int) $place['port'],
    'dbname' => $place['schema'], 'user' => $place['user'], 'password' => $place['password'], 'charset' => 'utf8mb4',
    'serverVersion' => '8.0'], $configuration);

function make(EntityManager $em): void
{
    $classes = array_map($em->getClassMetadata(...), [Post::class, Comment::class, SignUp::class]);
    (new SchemaTool($em))->createSchema($classes);
    foreach (range(1, 5) as $id) {
        $post = new Post();
        [$post->id, $post->title, $post->stock] = [$id, "post $id", STOCK[$id] ?? 0];
        $post->updatedAt = new DateTime();
        $em->persist($post);
    }
    $em->flush();
}

$dql = fn (string $text, array $parameters = []) => $em->createQuery($text)->setParameters($parameters)->execute();
$add_view = fn (int $id) => $dql('UPDATE Post p SET p.views = p.views + 1 WHERE p.id = :id', ['id' => $id]);
$sell = fn (int $id) => $dql(
    'UPDATE Post p SET p.stock = p.stock - 1 WHERE p.id = :id AND p.stock >= 1', ['id' => $id]);
$like = fn (int $id, int $n) => $dql('UPDATE Post p SET p.likes = p.likes + :n, p.updatedAt = :now WHERE p.id = :id',
    ['n' => $n, 'now' => new DateTime(), 'id' => $id]);
$find = function (int $id) use ($em) {
    $em->clear();
    return $em->find(Post::class, $id);
};

$steps = [
    'views' => fn () => say(...times(6, fn () => $add_view(1))),
    'likes' => fn () => times(3, fn () => say($like(2, 2), $find(2)->likes)),
    'transactions' => function () use ($em, $like, $find) {
        foreach ([0, 1] as $number) {
            $em->wrapInTransaction(function () use ($em, $like, $number) {
                $comment = new Comment();
                [$comment->post, $comment->text] = [$em->getReference(Post::class, 3), "comment $number"];
                $em->persist($comment);
                $like(3, 10);
            });
        }
        $em->beginTransaction();
        $like(3, 100);
        say($find(3)->likes);
        $em->rollback();
        $post = $find(3);
        say($post->likes, array_map(fn ($comment) => $comment->text, $post->comments->toArray()));
    },
    'stock' => fn () => say(...times(8, fn () => $sell(1))),
    'sign_ups' => function () use ($em) {
        foreach (DAYS as $day) {
            say($em->getConnection()->executeStatement(
                'INSERT INTO sign_ups (day, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1', [$day]));
        }
    },
    'sequence' => fn () => times(3, function () use ($em) {
        $em->getConnection()->executeStatement('UPDATE seq SET id = LAST_INSERT_ID(id + 1)');
        say($em->getConnection()->lastInsertId());
    }),
    'edit' => function () use ($em, $find) {
        $post = $find(4);
        $post->title = 'Grüße, 漢字 😀';
        $em->flush();
    },
    'reads' => function () use ($em) {
        $popular = $em->createQuery('SELECT p FROM Post p ORDER BY p.views DESC, p.id')->setMaxResults(3)->getResult();
        say(...array_map(fn ($post) => [$post->id, $post->title, $post->views, $post->likes, $post->stock], $popular));
        say(...array_values($em->createQuery(
            'SELECT COUNT(p) AS a, SUM(p.views) AS b, MAX(p.likes) AS c FROM Post p')->getSingleResult()));
        say(...$em->createQuery('SELECT p.id FROM Post p WHERE p.likes > 1 ORDER BY p.id')->getSingleColumnResult());
        say(...array_map('array_values', $em->createQuery('SELECT p.id, p.views, COUNT(c) AS n FROM Post p
            LEFT JOIN p.comments c GROUP BY p.id, p.views ORDER BY p.id')->getResult()));
        say(...array_map('array_values', $em->createQuery('SELECT s.day, s.hits FROM SignUp s ORDER BY s.day')->getResult()));
    },
    'errors' => function () use ($em, $dql) {
        refused(fn () => $em->getConnection()->insert('posts', ['id' => 1, 'title' => 'again']));
        refused(fn () => $dql('UPDATE Post p SET p.stock = p.stock - 1 WHERE p.id = 2'));
        refused(fn () => $em->getConnection()->executeQuery('SELECT views, nothing FROM posts'));
    },
    'reconnect' => function () use ($em) {
        $em->getConnection()->executeStatement('SET @mine = 1');
        $em->getConnection()->close();
        say(...$em->getConnection()->fetchNumeric('SELECT @mine, views FROM posts WHERE id = 1'));
    },
    'crowd' => fn () => crowd(),
];
match ($place['task']) {
    'make' => make($em),
    'play' => play($steps),
    'worker' => worker([[fn () => $add_view(3), 10], [fn () => $sell(3), 5]]),
};
