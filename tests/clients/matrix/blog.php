<?php
// The blog of tests/clients/matrix/mod.rs, with PHP's mysqli and PDO.
//
//     blog.php DRIVER HOST PORT USER PASSWORD SCHEMA
//
// DRIVER is `mysqli`, `mysqli-compressed`, `pdo` (which prepares in the client, as it does by default) or
// `pdo-prepared` (in the server). With DRIVER alone it prints the library's version.

declare(strict_types=1);

/** mysqli: text by query(), parameters by statements that the server prepares. */
final class Mysqli_
{
    public mysqli $connection;

    public function __construct(private array $address, private bool $isCompressed)
    {
        mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
        [$host, $port, $user, $password, $schema] = $address;
        $this->connection = mysqli_init();
        $flags = $isCompressed ? MYSQLI_CLIENT_COMPRESS : 0;
        $this->connection->real_connect($host, $user, $password, $schema, (int) $port, null, $flags);
        $this->connection->set_charset('utf8mb4');
    }

    public static function version(): string
    {
        return PHP_VERSION . ', ' . mysqli_get_client_info();
    }

    public function run(string $statement): int
    {
        $this->connection->query($statement);
        return (int) $this->connection->affected_rows;
    }

    public function execute(string $statement, array $values): int
    {
        $prepared = $this->connection->prepare($statement);
        $prepared->bind_param($this->types($values), ...$values);
        $prepared->execute();
        return (int) $prepared->affected_rows;
    }

    public function rows(string $statement): array
    {
        return $this->connection->query($statement)->fetch_all(MYSQLI_NUM);
    }

    public function preparedRows(string $statement, array $values): array
    {
        $prepared = $this->connection->prepare($statement);
        $prepared->bind_param($this->types($values), ...$values);
        $prepared->execute();
        return $prepared->get_result()->fetch_all(MYSQLI_NUM);
    }

    private function types(array $values): string
    {
        return implode('', array_map(fn ($value) => is_int($value) ? 'i' : 's', $values));
    }

    /** A large value goes ahead of its statement, in pieces. */
    public function large(string $statement, string $picture, string $text): void
    {
        $prepared = $this->connection->prepare($statement);
        $nothing = null;
        $prepared->bind_param('bs', $nothing, $text);
        foreach (str_split($picture, 1 << 20) as $piece) {
            $prepared->send_long_data(0, $piece);
        }
        $prepared->execute();
    }

    public function begin(): void
    {
        $this->connection->begin_transaction();
    }

    public function commit(): void
    {
        $this->connection->commit();
    }

    public function rollback(): void
    {
        $this->connection->rollback();
    }

    public function insertId(): string
    {
        return (string) $this->connection->insert_id;
    }

    public function columns(string $statement): array
    {
        $fields = $this->connection->query($statement)->fetch_fields();
        return array_map(fn ($field) => "$field->name=$field->type/$field->length/$field->flags", $fields);
    }

    public function stream(string $statement): iterable
    {
        $result = $this->connection->query($statement, MYSQLI_USE_RESULT);
        while ($row = $result->fetch_row()) {
            yield $row;
        }
        $result->free();
    }

    public function several(string $statements): array
    {
        $this->connection->multi_query($statements);
        $found = [];
        do {
            $result = $this->connection->store_result();
            $found[] = $result ? rowOf($result->fetch_row()) : $this->connection->affected_rows;
        } while ($this->connection->more_results() && $this->connection->next_result());
        return $found;
    }

    public function error(Exception $error): array
    {
        return [$error->getCode(), $error->getSqlState(), $error->getMessage()];
    }

    public function told(): string
    {
        return $this->connection->warning_count . ' ' . ($this->connection->info ?? 'NULL');
    }

    public function messages(): array
    {
        return $this->rows('SHOW WARNINGS');
    }

    public function close(): void
    {
        $this->connection->close();
    }

    public function afresh(): string
    {
        [, , $user, $password, $schema] = $this->address;
        $this->connection->change_user($user, $password, $schema);
        return 'change_user';
    }
}

/** PDO: text by exec() and query(), parameters by prepare(). */
final class Pdo_
{
    public PDO $connection;

    public function __construct(array $address, bool $isEmulated)
    {
        [$host, $port, $user, $password, $schema] = $address;
        $this->connection = new PDO("mysql:host=$host;port=$port;dbname=$schema;charset=utf8mb4", $user, $password, [
            PDO::ATTR_EMULATE_PREPARES => $isEmulated,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_NUM,
        ]);
    }

    public static function version(): string
    {
        return PHP_VERSION . ', PDO ' . mysqli_get_client_info();
    }

    public function run(string $statement): int
    {
        return $this->connection->exec($statement);
    }

    private function executed(string $statement, array $values): PDOStatement
    {
        $prepared = $this->connection->prepare($statement);
        // All of them are bound as strings.
        $prepared->execute($values);
        return $prepared;
    }

    public function execute(string $statement, array $values): int
    {
        return $this->executed($statement, $values)->rowCount();
    }

    public function rows(string $statement): array
    {
        return $this->connection->query($statement)->fetchAll();
    }

    public function preparedRows(string $statement, array $values): array
    {
        return $this->executed($statement, $values)->fetchAll();
    }

    public function large(string $statement, string $picture, string $text): void
    {
        $prepared = $this->connection->prepare($statement);
        $prepared->bindValue(1, $picture, PDO::PARAM_LOB);
        $prepared->bindValue(2, $text);
        $prepared->execute();
    }

    public function begin(): void
    {
        $this->connection->beginTransaction();
    }

    public function commit(): void
    {
        $this->connection->commit();
    }

    public function rollback(): void
    {
        $this->connection->rollBack();
    }

    public function insertId(): string
    {
        return $this->connection->lastInsertId();
    }

    public function columns(string $statement): array
    {
        $result = $this->connection->query($statement);
        $found = [];
        for ($index = 0; $index < $result->columnCount(); $index++) {
            $column = $result->getColumnMeta($index);
            $found[] = "$column[name]=$column[native_type]/$column[len]/" . implode('+', $column['flags']);
        }
        return $found;
    }

    public function stream(string $statement): iterable
    {
        $this->connection->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
        yield from $this->connection->query($statement);
        $this->connection->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, true);
    }

    public function several(string $statements): array
    {
        // A client that prepares in the server cannot send several at a time, and asks for one after another.
        if (!$this->connection->getAttribute(PDO::ATTR_EMULATE_PREPARES)) {
            return ['no'];
        }
        $result = $this->connection->query($statements);
        $found = [];
        do {
            $found[] = $result->columnCount() > 0 ? rowOf($result->fetch()) : $result->rowCount();
        } while ($result->nextRowset());
        return $found;
    }

    public function error(Exception $error): array
    {
        return [$error->errorInfo[1], $error->errorInfo[0], $error->errorInfo[2]];
    }

    public function told(): string
    {
        return 'nothing';
    }

    public function messages(): array
    {
        // MySQL does not prepare it, and has another message then.
        $isEmulated = $this->connection->getAttribute(PDO::ATTR_EMULATE_PREPARES);
        $this->connection->setAttribute(PDO::ATTR_EMULATE_PREPARES, true);
        $messages = $this->rows('SHOW WARNINGS');
        $this->connection->setAttribute(PDO::ATTR_EMULATE_PREPARES, $isEmulated);
        return $messages;
    }

    public function close(): void
    {
        unset($this->connection);
    }

    public function afresh(): string
    {
        return 'no';
    }
}

function textOf(mixed $value): string
{
    return $value === null ? 'NULL' : (string) $value;
}

function rowOf(array $row): string
{
    return implode('|', array_map('textOf', $row));
}

function say(string $step, mixed ...$values): void
{
    echo "$step: ", implode(' ', array_map('textOf', $values)), "\n";
}

function times(int $count, callable $ask): array
{
    return array_map($ask, range(0, $count - 1));
}

function increments(object $blog): void
{
    say('text', ...times(10, fn () => $blog->run('UPDATE posts SET views = views + 1 WHERE id = 1')));
    say('prepared', ...times(5, fn () => $blog->execute('UPDATE posts SET views = views + 1 WHERE id = ?', [1])));
    say('bound', ...times(3, fn () => $blog->execute('UPDATE posts SET likes = likes + ? WHERE id = ?', [2, 1])));
    foreach ([[1, 5], [2, 6], [3, 5]] as $row) {
        $blog->execute('UPDATE posts SET views = views + ? WHERE id = ?', $row);
    }
    say('bulk', rowOf($blog->rows('SELECT SUM(views) FROM posts WHERE id IN (5, 6)')[0]));
}

function transactions(object $blog): void
{
    $blog->begin();
    $committed = $blog->run('UPDATE posts SET likes = likes + 10 WHERE id = 1');
    $blog->commit();
    $blog->begin();
    $rolledBack = $blog->run('UPDATE posts SET likes = likes + 100 WHERE id = 1');
    $blog->rollback();
    say('transactions', $committed, $rolledBack, rowOf($blog->rows('SELECT likes FROM posts WHERE id = 1')[0]));
    $blog->begin();
    $blog->run('UPDATE posts SET views = views + 1 WHERE id = 4');
    $within = rowOf($blog->rows('SELECT views FROM posts WHERE id = 4')[0]);
    $blog->rollback();
    say('within', $within, rowOf($blog->rows('SELECT views FROM posts WHERE id = 4')[0]));
}

function otherWrites(object $blog): void
{
    $guarded = 'UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1';
    say('guarded', ...times(8, fn () => $blog->execute($guarded, [1])));
    $days = ['2026-11-22', '2026-11-22', '2026-11-22', '2026-11-23', '2026-11-23'];
    $upsert = 'INSERT INTO sign_ups (day, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1';
    say('upserts', ...times(5, fn ($index) => $blog->execute($upsert, [$days[$index]])));
    $added = $blog->run('UPDATE posts SET views = views + 1 WHERE id = 8');
    $changed = $blog->execute('UPDATE posts SET body = ?, views = 5 WHERE id = ?', [null, 8]);
    say('set', $added, $changed, rowOf($blog->rows('SELECT views FROM posts WHERE id = 8')[0]));
    say('sequence', ...times(3, function () use ($blog) {
        $blog->run('UPDATE seq SET id = LAST_INSERT_ID(id + 1)');
        return $blog->insertId();
    }));
}

function reads(object $blog): void
{
    $statement = 'SELECT id, title, body, views, likes, stock, price FROM posts WHERE id = ';
    say('row', rowOf($blog->rows($statement . '1')[0]));
    say('prepared row', rowOf($blog->preparedRows($statement . '?', [1])[0]));
    $list = 'SELECT id, title, views FROM posts WHERE id <= 5 ORDER BY views DESC, id';
    say('list', ...array_map('rowOf', $blog->rows($list)));
    say('sum', rowOf($blog->rows('SELECT COUNT(*), SUM(views), MAX(likes) FROM posts')[0]));
    $days = $blog->rows('SELECT CAST(day AS CHAR), hits FROM sign_ups ORDER BY day');
    say('days', ...array_map('rowOf', $days));
    say('columns', ...$blog->columns('SELECT * FROM posts WHERE id = 1'));
    say('values', json_encode($blog->preparedRows('SELECT * FROM posts WHERE id = ?', [1])));
}

function unicode(object $blog): void
{
    $title = 'Ångström’s 😀';
    $inserted = $blog->execute('INSERT INTO posts (id, title, body) VALUES (20001, ?, ?)', [$title, null]);
    $row = $blog->preparedRows('SELECT id, title, body, views FROM posts WHERE title = ?', [$title])[0];
    say('unicode', $inserted, rowOf($row), $blog->execute('DELETE FROM posts WHERE id = ?', [20001]));
}

function large(object $blog): void
{
    $bytes = str_repeat(implode('', array_map('chr', range(0, 255))), 12288);
    $text = str_repeat("Zeile 漢字 😀\n", 50000);
    $blog->large('UPDATE posts SET picture = ?, body = ? WHERE id = 2', $bytes, $text);
    [$picture, $body, $views] = $blog->rows('SELECT picture, body, views FROM posts WHERE id = 2')[0];
    $there = $blog->rows('SELECT SHA2(picture, 256), SHA2(body, 256) FROM posts WHERE id = 2')[0];
    say('large', strlen($picture), strlen($body), $views, ...$there);
    say('came back', hash('sha256', $picture), hash('sha256', $body));
}

function stream(object $blog): void
{
    [$count, $total, $letters] = [0, 0, 0];
    foreach ($blog->stream('SELECT id, title, views FROM posts WHERE id > 10 ORDER BY id') as [$id, $title, $views]) {
        $count++;
        $total += $id * $views;
        $letters += strlen($title);
    }
    say('stream', $count, $total, $letters);
}

function errors(object $blog): void
{
    $codes = [];
    foreach ([
        "INSERT INTO posts (id, title) VALUES (1, 'again')",
        'UPDATE posts SET views = views + WHERE id = 1',
        'UPDATE posts SET views = views + 1, nothing = 1 WHERE id = 1',
        'SELECT views, nothing FROM posts',
        'UPDATE posts SET stock = stock - 1 WHERE id = 1',
    ] as $statement) {
        try {
            $blog->run($statement);
        } catch (Exception $error) {
            $told = $blog->error($error);
            $codes[] = $told[0];
            say('error', ...$told);
        }
    }
    say('errors', ...$codes);
}

function warnings(object $blog): void
{
    $changed = $blog->run("UPDATE posts SET price = '1.239' WHERE id = 7");
    say('told', $changed, $blog->told());
    $cast = rowOf($blog->rows("SELECT CAST('12abc' AS SIGNED), views FROM posts WHERE id = 1")[0]);
    say('warned', $cast, $blog->told());
    [[, $code, $message]] = $blog->messages();
    say('warning', $code);
    say('message', $message);
}

function several(object $blog): void
{
    say('several', ...$blog->several(
        'SELECT views FROM posts WHERE id = 1; DO 0; SELECT title FROM posts WHERE id = 5; SELECT COUNT(*) FROM seq',
    ));
}

function again(object $blog, callable $connect): object
{
    $blog->run('SET @mine = 1');
    $blog->close();
    $blog = $connect();
    say('again', rowOf($blog->rows('SELECT views, @mine FROM posts WHERE id = 1')[0]));
    $blog->run('SET @mine = 2');
    say('afresh', $blog->afresh(), rowOf($blog->rows('SELECT views, @mine, DATABASE() FROM posts WHERE id = 1')[0]));
    return $blog;
}

/** How many of the rows were affected when four connections run a statement so often each, by turns. */
function together(callable $connect, string $statement, int $count): string
{
    $blogs = times(4, $connect);
    $affected = times(4 * $count, fn ($index) => $blogs[$index % 4]->execute($statement, [3]));
    array_walk($blogs, fn ($blog) => $blog->close());
    return array_sum($affected) . ' of ' . count($affected);
}

function crowd(object $blog, callable $connect): void
{
    $crowd = together($connect, 'UPDATE posts SET views = views + 1 WHERE id = ?', 10);
    $sold = together($connect, 'UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1', 5);
    $left = rowOf($blog->rows('SELECT views, stock FROM posts WHERE id = 3')[0]);
    say('crowd', $crowd, 'and', $sold, 'leave', $left);
}

[, $driver] = $argv;
$address = array_slice($argv, 2);
if ($address === []) {
    echo str_starts_with($driver, 'mysqli') ? Mysqli_::version() : Pdo_::version(), "\n";
    exit;
}
$connect = fn () => str_starts_with($driver, 'mysqli')
    ? new Mysqli_($address, $driver === 'mysqli-compressed')
    : new Pdo_($address, $driver === 'pdo');
$blog = $connect();
foreach ([
    'increments', 'transactions', 'otherWrites', 'reads', 'unicode', 'large', 'stream', 'errors', 'warnings', 'several',
] as $step) {
    $step($blog);
}
$blog = again($blog, $connect);
crowd($blog, $connect);
$blog->close();
echo "finished\n";
