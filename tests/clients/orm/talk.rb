# How a Ruby program talks to tests/clients/orm/capture.rs: it runs each increment when it is told to.

require "json"

$stdout.sync = true

# Says who we are; where to connect comes back.
def introduce(library, version, driver, table, counters, touch)
  puts JSON.generate(library: library, version: version, language: "Ruby #{RUBY_VERSION}", driver: driver,
                     table: table.split.join(" "), counters: counters, touch: touch)
  host, port, user, password, schema = $stdin.gets.chomp.split("\t", -1)
  { host: host, port: port.to_i, username: user, password: password, database: schema }
end

# Runs lines of code.
def run(increments, names = TOPLEVEL_BINDING)
  increments.each do |code|
    code = code.strip.lines.map { |line| line.sub(/^ {4}/, "") }.join
    puts JSON.generate(next: code)
    $stdin.gets
    names.eval(code)
    puts JSON.generate(done: true)
  end
end
