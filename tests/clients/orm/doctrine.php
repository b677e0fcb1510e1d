<?php
// Doctrine ORM, on PDO.

error_reporting(E_ALL & ~E_DEPRECATED);
require_once 'Doctrine/ORM/autoload.php';
require_once __DIR__ . '/talk.php';

use Doctrine\DBAL\DriverManager;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping as ORM;
use Doctrine\ORM\Mapping\Driver\AttributeDriver;

#[ORM\Entity]
#[ORM\Table(name: 'posts')]
class Post
{
    #[ORM\Id, ORM\Column, ORM\GeneratedValue]
    public int $id;
    #[ORM\Column(length: 100)]
    public string $title;
    #[ORM\Column]
    public int $views;
    #[ORM\Column(type: 'bigint')]
    public string $likes;
    #[ORM\Column(name: 'updated_at', type: 'datetime')]
    public DateTime $updatedAt;
}

$to = introduce('Doctrine ORM', Doctrine\ORM\Version::VERSION, 'PDO mysqlnd ' . PHP_VERSION, "
    CREATE TABLE posts (id INT AUTO_INCREMENT NOT NULL, title VARCHAR(100) NOT NULL, views INT NOT NULL, likes BIGINT NOT
    NULL, updated_at DATETIME NOT NULL, PRIMARY KEY(id)) DEFAULT CHARACTER SET utf8mb4", ['views', 'likes'], ['updated_at']);
$connection = ['driver' => 'pdo_mysql', 'host' => $to['host'], 'port' => (int) $to['port'], 'dbname' => $to['schema'],
    'user' => $to['user'], 'password' => $to['password'], 'serverVersion' => '8.0'];
date_default_timezone_set('UTC');
$configuration = new Configuration();
$configuration->setMetadataDriverImpl(new AttributeDriver([__DIR__]));
$configuration->setProxyDir(sys_get_temp_dir());
$configuration->setProxyNamespace('Proxies');
$em = EntityManager::create($connection, $configuration);

run([
    '
    $em->createQuery("UPDATE Post p SET p.views = p.views + 1 WHERE p.id = :id")
        ->setParameter("id", 1)->execute();',
    '
    $em->createQuery("UPDATE Post p SET p.views = p.views + :n, p.updatedAt = :now WHERE p.id = :id")
        ->setParameters(["n" => 1, "now" => new DateTime(), "id" => 2])->execute();',
    '
    $em->createQueryBuilder()->update("Post", "p")->set("p.likes", "p.likes - 1")
        ->where("p.id IN (:ids)")->setParameter("ids", [1, 2])->getQuery()->execute();',
    '$em->getConnection()->executeStatement("UPDATE posts SET views = views + ? WHERE id = ?", [1, 3]);',
], ['em' => $em]);
