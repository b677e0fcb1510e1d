<?php
// Laravel's Eloquent on PDO: statements that the server prepares, and transactions where they are asked for.

namespace App;

require_once __DIR__ . '/stage.php';
require_once 'Illuminate/Database/autoload.php';
require_once 'Illuminate/Events/autoload.php';

use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Database\Eloquent\Model;

// It does not tell its own version, and Debian does.
$package = @shell_exec('dpkg-query --show --showformat \'${Version}\' php-illuminate-database 2>/dev/null');
$place = \asked(explode('+', $package ?: 'of unknown version')[0]);

class Post extends Model
{
    protected $guarded = [];
    const CREATED_AT = null;

    public function comments()
    {
        return $this->hasMany(Comment::class);
    }
}

class Comment extends Model
{
    protected $guarded = [];
    public $timestamps = false;
}

class SignUp extends Model
{
    protected $guarded = [];
    protected $primaryKey = 'day';
    protected $keyType = 'string';
    public $incrementing = false;
    public $timestamps = false;
}

$capsule = new DB();
$capsule->addConnection(['driver' => 'mysql', 'host' => $place['host'], 'port' => $place['port'],
    'database' => $place['schema'], 'username' => $place['user'], 'password' => $place['password'],
    'charset' => 'utf8mb4', 'collation' => 'utf8mb4_unicode_ci', 'strict' => true]);
$capsule->setAsGlobal();
$capsule->bootEloquent();

function make(): void
{
    $schema = DB::schema();
    $schema->create('posts', function ($table) {
        $table->id();
        $table->string('title', 100);
        $table->integer('views')->default(0);
        $table->bigInteger('likes')->default(0);
        $table->unsignedInteger('stock')->default(0);
        $table->timestamp('updated_at')->nullable();
    });
    $schema->create('comments', function ($table) {
        $table->id();
        $table->foreignId('post_id')->constrained();
        $table->string('text', 100);
    });
    $schema->create('sign_ups', function ($table) {
        $table->date('day')->primary();
        $table->integer('hits')->default(0);
    });
    foreach (range(1, 5) as $id) {
        Post::create(['id' => $id, 'title' => "post $id", 'stock' => \STOCK[$id] ?? 0]);
    }
}

function add_view(int $id): int
{
    return Post::where('id', $id)->increment('views');
}

function sell(int $id): int
{
    return Post::where('id', $id)->where('stock', '>=', 1)->decrement('stock');
}

$steps = [
    'views' => fn () => \say(...\times(6, fn () => add_view(1))),
    'likes' => fn () => \times(3, function () {
        $post = Post::find(2);
        $post->increment('likes', 2);
        \say($post->refresh()->likes);
    }),
    'transactions' => function () {
        foreach ([0, 1] as $number) {
            DB::transaction(function () use ($number) {
                Comment::create(['post_id' => 3, 'text' => "comment $number"]);
                Post::where('id', 3)->increment('likes', 10);
            });
        }
        DB::connection()->beginTransaction();
        Post::where('id', 3)->increment('likes', 100);
        \say(Post::find(3)->likes);
        DB::connection()->rollBack();
        $post = Post::with('comments')->find(3);
        \say($post->likes, $post->comments->pluck('text')->all());
    },
    'stock' => fn () => \say(...\times(8, fn () => sell(1))),
    'sign_ups' => function () {
        foreach (\DAYS as $day) {
            \say(SignUp::upsert([['day' => $day, 'hits' => 1]], ['day'], ['hits' => DB::raw('hits + 1')]));
        }
    },
    'sequence' => fn () => \times(3, function () {
        DB::connection()->update('UPDATE seq SET id = LAST_INSERT_ID(id + 1)');
        \say(DB::connection()->getPdo()->lastInsertId());
    }),
    'edit' => function () {
        $post = Post::find(4);
        $post->title = 'Grüße, 漢字 😀';
        $post->save();
    },
    'reads' => function () {
        $popular = Post::orderByDesc('views')->orderBy('id')->limit(3)->get();
        \say(...$popular->map(fn ($post) => array_values($post->only(['id', 'title', 'views', 'likes', 'stock'])))->all());
        \say(Post::count(), Post::sum('views'), Post::max('likes'));
        \say(...Post::where('likes', '>', 1)->orderBy('id')->pluck('id')->all());
        \say(...Post::withCount('comments')->orderBy('id')->get()
            ->map(fn ($post) => [$post->id, $post->views, $post->comments_count])->all());
        \say(...SignUp::orderBy('day')->get()->map(fn ($signed) => [$signed->day, $signed->hits])->all());
    },
    'errors' => function () {
        \refused(fn () => Post::create(['id' => 1, 'title' => 'again']));
        \refused(fn () => Post::where('id', 2)->decrement('stock'));
        \refused(fn () => DB::select('SELECT views, nothing FROM posts'));
    },
    'reconnect' => function () {
        DB::connection()->statement('SET @mine = 1');
        DB::connection()->reconnect();
        \say(...array_values((array) DB::connection()->selectOne('SELECT @mine, views FROM posts WHERE id = 1')));
    },
    'crowd' => fn () => \crowd(),
];
match ($place['task']) {
    'make' => make(),
    'play' => \play($steps),
    'worker' => \worker([[fn () => add_view(3), 10], [fn () => sell(3), 5]]),
};
