<?php
// Laravel's Eloquent (illuminate/database), on PDO: it prepares its statements.

namespace App;

error_reporting(E_ALL & ~E_DEPRECATED);
require_once 'Illuminate/Database/autoload.php';
require_once 'Illuminate/Events/autoload.php';
require_once __DIR__ . '/talk.php';

use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Database\Eloquent\Model;

// As pinned in `capture`; it does not tell.
const VERSION = '8.83.26';

$to = \introduce('Laravel Eloquent', VERSION, 'PDO mysqlnd ' . PHP_VERSION, "
    create table `posts` (`id` bigint unsigned not null auto_increment primary key, `title` varchar(100) not null, `views`
    int unsigned not null default '0', `likes` bigint not null default '0', `created_at` timestamp null, `updated_at`
    timestamp null) default character set utf8mb4 collate 'utf8mb4_unicode_ci'", ['views', 'likes'], ['updated_at']);

class Post extends Model
{
    protected $guarded = [];
}

$capsule = new DB();
$capsule->addConnection(['driver' => 'mysql', 'host' => $to['host'], 'port' => $to['port'], 'database' => $to['schema'],
    'username' => $to['user'], 'password' => $to['password'], 'charset' => 'utf8mb4',
    'collation' => 'utf8mb4_unicode_ci', 'strict' => true]);
$capsule->setAsGlobal();
$capsule->bootEloquent();
date_default_timezone_set('UTC');
class_alias(DB::class, 'DB');
class_alias(Post::class, 'Post');

\run([
    'Post::where("id", 1)->increment("views");',
    'Post::find(2)->increment("views");',
    'Post::find(2)->decrement("likes", 3);',
    'Post::whereIn("id", [1, 2])->increment("likes", 5);',
    'DB::table("posts")->where("id", 3)->increment("views", 2);',
    'DB::table("posts")->where("id", 3)->update(["views" => DB::raw("views + 1")]);',
]);
