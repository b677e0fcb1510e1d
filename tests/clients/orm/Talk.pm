# How a Perl program talks to tests/clients/orm/capture.rs: it runs each increment when it is told to.

package Talk;

use strict;
use warnings;
use Exporter 'import';
use JSON::PP;

our @EXPORT = qw(introduce next_increment done);
my $json = JSON::PP->new->canonical;
$| = 1;

# Says who we are; host, port, user, password and schema come back.
sub introduce {
    my ($library, $version, $driver, $table, $counters, $touch) = @_;
    print $json->encode({
        library => $library, version => "$version", language => sprintf('Perl %vd', $^V), driver => $driver,
        table => join(' ', split ' ', $table), counters => $counters, touch => $touch,
    }), "\n";
    my $line = <STDIN>;
    chomp $line;
    return split /\t/, $line, -1;
}

# Says what is to be run next and waits until it may.
sub next_increment {
    my ($code) = @_;
    print $json->encode({ next => $code }), "\n";
    return <STDIN>;
}

# Says that it has been run.
sub done {
    die $@ if $@;
    print $json->encode({ done => JSON::PP::true }), "\n";
    return;
}

1;
