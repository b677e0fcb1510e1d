<?php
// How a PHP program talks to tests/clients/orm/capture.rs: it runs each increment when it is told to.

function say(array $what): void
{
    echo json_encode($what, JSON_UNESCAPED_SLASHES), "\n";
}

// Says who we are; host, port, user, password and schema come back.
function introduce(string $library, string $version, string $driver, string $table, array $counters, array $touch): array
{
    say(['library' => $library, 'version' => $version, 'language' => 'PHP ' . PHP_VERSION, 'driver' => $driver,
        'table' => trim(preg_replace('/\s+/', ' ', $table)), 'counters' => $counters, 'touch' => $touch]);
    return array_combine(['host', 'port', 'user', 'password', 'schema'], explode("\t", rtrim(fgets(STDIN), "\n")));
}

// Runs lines of code, with these names.
function run(array $increments, array $names = []): void
{
    extract($names);
    foreach ($increments as $increment) {
        $code = preg_replace('/^ {4}/m', '', trim($increment));
        say(['next' => $code]);
        fgets(STDIN);
        eval($code);
        say(['done' => true]);
    }
}
