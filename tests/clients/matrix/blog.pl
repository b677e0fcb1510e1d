# The blog of tests/clients/matrix/mod.rs, with Perl's DBI.
#
#     blog.pl DRIVER HOST PORT USER PASSWORD SCHEMA
#
# DRIVER is `mysql` (DBD::mysql, which prepares in the client, as it does by default), `mysql-prepared` (in the server),
# or `MariaDB` (DBD::MariaDB). With DRIVER alone it prints the library's version.

use strict;
use utf8;
use warnings;
use DBI;
use Digest::SHA qw(sha256_hex);
use Encode qw(encode_utf8);

binmode STDOUT, ':encoding(UTF-8)';
my ($driver, @address) = @ARGV;
my ($module, $is_prepared) = $driver =~ /^(\w+)(-prepared)?$/;
my $lower = lc $module;

sub text_of { defined $_[0] ? $_[0] : 'NULL' }
sub row_of { join '|', map { text_of($_) } @{ $_[0] } }
sub say_ { my $step = shift; print "$step: ", join(' ', map { text_of($_) } @_), "\n" }

sub connect_ {
    my ($host, $port, $user, $password, $schema) = @address;
    my $unicode = $module eq 'mysql' ? { mysql_enable_utf8mb4 => 1 } : {};
    my $prepared = $is_prepared ? { mysql_server_prepare => 1 } : {};
    return DBI->connect(
        "DBI:$module:database=$schema;host=$host;port=$port", $user, $password,
        { RaiseError => 1, PrintError => 0, AutoCommit => 1, %$unicode, %$prepared },
    );
}

sub run { my ($db, $statement, @values) = @_; return 0 + $db->do($statement, undef, @values) }

# What is executed again and again is prepared once.
sub executed {
    my ($db, $statement, @rows) = @_;
    my $prepared = $db->prepare($statement);
    return map { 0 + $prepared->execute(@$_) } @rows;
}

sub row { my ($db, $statement, @values) = @_; return row_of($db->selectrow_arrayref($statement, undef, @values)) }
sub rows { my ($db, $statement) = @_; return @{ $db->selectall_arrayref($statement) } }

sub increments {
    my ($db) = @_;
    say_('text', map { run($db, 'UPDATE posts SET views = views + 1 WHERE id = 1') } 1 .. 10);
    say_('prepared', executed($db, 'UPDATE posts SET views = views + 1 WHERE id = ?', ([1]) x 5));
    say_('bound', executed($db, 'UPDATE posts SET likes = likes + ? WHERE id = ?', ([2, 1]) x 3));
    executed($db, 'UPDATE posts SET views = views + ? WHERE id = ?', [1, 5], [2, 6], [3, 5]);
    say_('bulk', row($db, 'SELECT SUM(views) FROM posts WHERE id IN (5, 6)'));
}

sub transactions {
    my ($db) = @_;
    $db->begin_work;
    my $committed = run($db, 'UPDATE posts SET likes = likes + 10 WHERE id = 1');
    $db->commit;
    $db->begin_work;
    my $rolled_back = run($db, 'UPDATE posts SET likes = likes + 100 WHERE id = 1');
    $db->rollback;
    say_('transactions', $committed, $rolled_back, row($db, 'SELECT likes FROM posts WHERE id = 1'));
    $db->begin_work;
    run($db, 'UPDATE posts SET views = views + 1 WHERE id = 4');
    my $within = row($db, 'SELECT views FROM posts WHERE id = 4');
    $db->rollback;
    say_('within', $within, row($db, 'SELECT views FROM posts WHERE id = 4'));
}

sub other_writes {
    my ($db) = @_;
    my $guarded = 'UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1';
    say_('guarded', executed($db, $guarded, ([1]) x 8));
    my $upsert = 'INSERT INTO sign_ups (day, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1';
    say_('upserts', executed($db, $upsert, (['2026-11-22']) x 3, (['2026-11-23']) x 2));
    my $added = run($db, 'UPDATE posts SET views = views + 1 WHERE id = 8');
    my $changed = run($db, 'UPDATE posts SET body = ?, views = 5 WHERE id = ?', undef, 8);
    say_('set', $added, $changed, row($db, 'SELECT views FROM posts WHERE id = 8'));
    my @numbers;
    for (1 .. 3) {
        run($db, 'UPDATE seq SET id = LAST_INSERT_ID(id + 1)');
        push @numbers, $db->{"${lower}_insertid"};
    }
    say_('sequence', @numbers);
}

sub reads {
    my ($db) = @_;
    my $statement = 'SELECT id, title, body, views, likes, stock, price FROM posts WHERE id = ';
    say_('row', row($db, "${statement}1"));
    say_('prepared row', row($db, "${statement}?", 1));
    my $list = 'SELECT id, title, views FROM posts WHERE id <= 5 ORDER BY views DESC, id';
    say_('list', map { row_of($_) } rows($db, $list));
    say_('sum', row($db, 'SELECT COUNT(*), SUM(views), MAX(likes) FROM posts'));
    say_('days', map { row_of($_) } rows($db, 'SELECT CAST(day AS CHAR), hits FROM sign_ups ORDER BY day'));
    my $prepared = $db->prepare('SELECT * FROM posts WHERE id = 1');
    $prepared->execute;
    my ($names, $types, $lengths) = ($prepared->{NAME}, $prepared->{TYPE}, $prepared->{PRECISION});
    say_('columns', map { "$names->[$_]=$types->[$_]/$lengths->[$_]" } 0 .. $#$names);
    say_('values', row_of($prepared->fetchrow_arrayref));
    $prepared->finish;
}

sub unicode {
    my ($db) = @_;
    my $title = 'Ångström’s 😀';
    my $inserted = run($db, 'INSERT INTO posts (id, title, body) VALUES (20001, ?, ?)', $title, undef);
    my $row = row($db, 'SELECT id, title, body, views FROM posts WHERE title = ?', $title);
    say_('unicode', $inserted, $row, run($db, 'DELETE FROM posts WHERE id = ?', 20001));
}

sub large {
    my ($db) = @_;
    my $update = $db->prepare('UPDATE posts SET picture = ?, body = ? WHERE id = 2');
    $update->bind_param(1, join('', map { chr } 0 .. 255) x 12288, DBI::SQL_BLOB);
    $update->bind_param(2, "Zeile 漢字 😀\n" x 50000);
    $update->execute;
    $db->{LongReadLen} = 1 << 23;
    my $select = $db->prepare('SELECT picture, body, views FROM posts WHERE id = 2');
    $select->execute;
    my ($picture, $body, $views) = $select->fetchrow_array;
    $select->finish;
    my @there = $db->selectrow_array('SELECT SHA2(picture, 256), SHA2(body, 256) FROM posts WHERE id = 2');
    $body = encode_utf8($body);
    say_('large', length $picture, length $body, $views, @there);
    say_('came back', sha256_hex($picture), sha256_hex($body));
}

sub stream {
    my ($db) = @_;
    # Row by row, but where the module cannot.
    my $how = $driver eq 'mysql' ? { mysql_use_result => 1 } : {};
    my $select = $db->prepare('SELECT id, title, views FROM posts WHERE id > 10 ORDER BY id', $how);
    $select->execute;
    my ($count, $total, $letters) = (0, 0, 0);
    while (my ($id, $title, $views) = $select->fetchrow_array) {
        $count += 1;
        $total += $id * $views;
        $letters += length $title;
    }
    say_('stream', $count, $total, $letters);
}

sub errors {
    my ($db) = @_;
    my @codes;
    for my $statement (
        q{INSERT INTO posts (id, title) VALUES (1, 'again')},
        'UPDATE posts SET views = views + WHERE id = 1',
        'UPDATE posts SET views = views + 1, nothing = 1 WHERE id = 1',
        'SELECT views, nothing FROM posts',
        'UPDATE posts SET stock = stock - 1 WHERE id = 1',
    ) {
        next if eval { run($db, $statement); 1 };
        push @codes, $db->err;
        say_('error', $db->err, $db->state, $db->errstr);
    }
    say_('errors', @codes);
}

sub warnings_ {
    my ($db) = @_;
    my $changed = run($db, q{UPDATE posts SET price = '1.239' WHERE id = 7});
    say_('told', $changed, $db->{"${lower}_info"});
    my $select = $db->prepare(q{SELECT CAST('12abc' AS SIGNED), views FROM posts WHERE id = 1});
    $select->execute;
    my $row = row_of($select->fetchrow_arrayref);
    say_('warned', $select->{"${lower}_warning_count"}, $row);
    $select->finish;
    # MySQL does not prepare it, and has another message then.
    my $messages = $db->prepare('SHOW WARNINGS', $is_prepared ? { mysql_server_prepare => 0 } : {});
    $messages->execute;
    my (undef, $code, $message) = $messages->fetchrow_array;
    $messages->finish;
    say_('warning', $code);
    say_('message', $message);
}

sub again {
    my ($db) = @_;
    run($db, 'SET @mine = 1');
    $db->disconnect;
    $db = connect_();
    say_('again', row($db, 'SELECT views, @mine FROM posts WHERE id = 1'));
    say_('afresh', $db->ping, row($db, 'SELECT views, @mine, DATABASE() FROM posts WHERE id = 1'));
    return $db;
}

# How many of the rows were affected when four connections run a statement so often each, by turns.
sub together {
    my ($statement, $count) = @_;
    my @connections = map { connect_() } 1 .. 4;
    my @prepared = map { $_->prepare($statement) } @connections;
    my $affected = 0;
    $affected += $prepared[$_ % 4]->execute(3) for 1 .. 4 * $count;
    @prepared = ();
    $_->disconnect for @connections;
    return "$affected of " . 4 * $count;
}

sub crowd {
    my ($db) = @_;
    my $crowd = together('UPDATE posts SET views = views + 1 WHERE id = ?', 10);
    my $sold = together('UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1', 5);
    say_('crowd', $crowd, 'and', $sold, 'leave', row($db, 'SELECT views, stock FROM posts WHERE id = 3'));
}

if (!@address) {
    eval "require DBD::$module" or die $@;
    print "DBD::$module"->VERSION, ', DBI ', DBI->VERSION, "\n";
    exit;
}
my $db = connect_();
my @steps = (
    \&increments, \&transactions, \&other_writes, \&reads, \&unicode, \&large, \&stream, \&errors, \&warnings_,
);
$_->($db) for @steps;
$db = again($db);
crowd($db);
$db->disconnect;
print "finished\n";
