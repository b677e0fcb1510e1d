<?php
// How a PHP application talks to tests/clients/applications/played.rs; stage.py says what is said.

const DAYS = ['2026-11-22', '2026-11-22', '2026-11-22', '2026-11-23', '2026-11-23'];
const STOCK = [1 => 5, 3 => 12];

error_reporting(E_ALL & ~E_DEPRECATED);
date_default_timezone_set('UTC');

/** The task and the place, or an end after saying the versions. */
function asked(string $version): array
{
    global $argv;
    if (count($argv) < 7) {
        echo "$version, PDO mysqlnd " . PHP_VERSION . "\n";
        exit;
    }
    return array_combine(['task', 'host', 'port', 'user', 'password', 'schema'], array_slice($argv, -6));
}

function text_of(mixed $value): string
{
    return match (true) {
        $value === null => 'NULL',
        is_bool($value) => $value ? 'true' : 'false',
        is_array($value) => implode('|', array_map(text_of(...), $value)),
        $value instanceof DateTimeInterface => $value->format('Y-m-d'),
        default => (string) $value,
    };
}

function say(mixed ...$values): void
{
    echo '   ', implode(' ', array_map(text_of(...), $values)), "\n";
}

function times(int $count, callable $work): array
{
    return array_map(fn () => $work(), range(1, $count));
}

/** Says how the database refuses it. */
function refused(callable $attempt): void
{
    try {
        $attempt();
        say('not refused');
    } catch (Exception $error) {
        for ($cause = $error; !($cause instanceof PDOException) && $cause->getPrevious();) {
            $cause = $cause->getPrevious();
        }
        say($error::class, ...$cause->errorInfo);
    }
}

/** How much `work` has done when it is done so often; and what all workers have done. */
function worker(array $works): void
{
    echo implode(' ', array_map(fn ($work) => array_sum(times($work[1], $work[0])), $works)), "\n";
}

/** Four processes of this application, each with a connection of its own, which does what `worker` is told. */
function crowd(): void
{
    global $argv;
    $task = ['worker', ...array_slice($argv, -5)];
    $workers = times(4, function () use ($argv, $task) {
        $process = proc_open([PHP_BINARY, $argv[0], ...$task], [STDIN, ['pipe', 'w'], STDERR], $pipes);
        return [$process, $pipes[1]];
    });
    $done = array_map(function ($worker) {
        $said = explode(' ', trim(stream_get_contents($worker[1])));
        proc_close($worker[0]);
        return $said;
    }, $workers);
    say(array_sum(array_column($done, 0)) . ' of 40', array_sum(array_column($done, 1)) . ' of 20');
}

function play(array $steps): void
{
    foreach ($steps as $name => $step) {
        echo "> $name\n";
        fgets(STDIN);
        $step();
    }
    echo "finished\n";
}
