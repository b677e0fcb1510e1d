# DBIx::Class, on DBD::mysql; with the argument `prepared` the server prepares its statements.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Talk;
use DBD::mysql;

package Blog::Result::Post {
    use base 'DBIx::Class::Core';
    __PACKAGE__->table('posts');
    __PACKAGE__->add_columns(
        id => { data_type => 'integer', is_auto_increment => 1 }, title => {}, views => { data_type => 'integer' },
        likes => { data_type => 'bigint' }, updated_at => { data_type => 'datetime' },
    );
    __PACKAGE__->set_primary_key('id');
}

package Blog {
    use base 'DBIx::Class::Schema';
    __PACKAGE__->register_class(Post => 'Blog::Result::Post');
}

package main;

my $prepared = (grep { $_ eq 'prepared' } @ARGV) ? 1 : 0;
my $driver = "DBD::mysql $DBD::mysql::VERSION" . ($prepared ? ', mysql_server_prepare' : '');
my ($host, $port, $user, $password, $schema) = introduce(
    'DBIx::Class', DBIx::Class->VERSION, $driver, <<'SQL', ['views', 'likes'], ['updated_at']);
    CREATE TABLE `posts` (`id` integer NOT NULL auto_increment, `title` varchar(100) NOT NULL, `views` integer NOT NULL DEFAULT
    0, `likes` bigint NOT NULL DEFAULT 0, `updated_at` datetime NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB
SQL
my $blog = Blog->connect(
    "dbi:mysql:database=$schema;host=$host;port=$port;mysql_server_prepare=$prepared", $user, $password,
    { quote_names => 1, RaiseError => 1 });
my $posts = $blog->resultset('Post');

for my $code (
    q{$posts->search({ id => 1 })->update({ views => \'views + 1' })},
    q{$posts->find(2)->update({ views => \'views + 1' })},
    q{$posts->search({ id => [1, 2] })->update({ likes => \['likes - ?', 2] })},
    q{$posts->find(3)->update({ views => \'views + 1', updated_at => \'NOW()' })},
) {
    next_increment($code);
    eval $code;
    done();
}
