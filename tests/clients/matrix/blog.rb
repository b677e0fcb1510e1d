# The blog of tests/clients/matrix/mod.rs, with Ruby's mysql2.
#
#     blog.rb DRIVER HOST PORT USER PASSWORD SCHEMA
#
# With DRIVER alone it prints the library's version.

require 'digest'
require 'mysql2'

ALL_BYTES = ((0..255).map(&:chr).join.b * 12_288).freeze
LONG_TEXT = ("Zeile 漢字 😀\n" * 50_000).freeze

def text_of(value)
  case value
  when nil then 'NULL'
  when BigDecimal then value.to_s('F').then { |text| text.end_with?('.0') ? text.delete_suffix('.0') : text }
  else value.to_s
  end
end

def row_of(row)
  row.map { |value| text_of(value) }.join('|')
end

def say(step, *values)
  puts "#{step}: #{values.map { |value| text_of(value) }.join(' ')}"
end

# The blog over one connection.
class Blog
  attr_reader :client

  def initialize(address)
    host, port, user, password, schema = address
    @client = Mysql2::Client.new(
      host: host, port: port.to_i, username: user, password: password, database: schema, encoding: 'utf8mb4',
      flags: Mysql2::Client::MULTI_STATEMENTS
    )
    @client.query_options.merge!(as: :array)
  end

  def run(statement)
    client.query(statement)
    client.affected_rows
  end

  def execute(statement, *values)
    prepared = client.prepare(statement)
    prepared.execute(*values)
    prepared.affected_rows.tap { prepared.close }
  end

  def rows(statement)
    client.query(statement).to_a
  end

  def prepared_rows(statement, *values)
    prepared = client.prepare(statement)
    prepared.execute(*values, as: :array).to_a.tap { prepared.close }
  end

  def increments
    say('text', *Array.new(10) { run('UPDATE posts SET views = views + 1 WHERE id = 1') })
    say('prepared', *Array.new(5) { execute('UPDATE posts SET views = views + 1 WHERE id = ?', 1) })
    say('bound', *Array.new(3) { execute('UPDATE posts SET likes = likes + ? WHERE id = ?', 2, 1) })
    [[1, 5], [2, 6], [3, 5]].each { |row| execute('UPDATE posts SET views = views + ? WHERE id = ?', *row) }
    say('bulk', row_of(rows('SELECT SUM(views) FROM posts WHERE id IN (5, 6)')[0]))
  end

  def transactions
    run('BEGIN')
    committed = run('UPDATE posts SET likes = likes + 10 WHERE id = 1')
    run('COMMIT')
    run('BEGIN')
    rolled_back = run('UPDATE posts SET likes = likes + 100 WHERE id = 1')
    run('ROLLBACK')
    say('transactions', committed, rolled_back, row_of(rows('SELECT likes FROM posts WHERE id = 1')[0]))
    run('BEGIN')
    run('UPDATE posts SET views = views + 1 WHERE id = 4')
    within = row_of(rows('SELECT views FROM posts WHERE id = 4')[0])
    run('ROLLBACK')
    say('within', within, row_of(rows('SELECT views FROM posts WHERE id = 4')[0]))
  end

  def other_writes
    guarded = 'UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1'
    say('guarded', *Array.new(8) { execute(guarded, 1) })
    upsert = 'INSERT INTO sign_ups (day, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1'
    days = ['2026-11-22'] * 3 + ['2026-11-23'] * 2
    say('upserts', *days.map { |day| execute(upsert, day) })
    added = run('UPDATE posts SET views = views + 1 WHERE id = 8')
    changed = execute('UPDATE posts SET body = ?, views = 5 WHERE id = ?', nil, 8)
    say('set', added, changed, row_of(rows('SELECT views FROM posts WHERE id = 8')[0]))
    numbers = Array.new(3) do
      run('UPDATE seq SET id = LAST_INSERT_ID(id + 1)')
      client.last_id
    end
    say('sequence', *numbers)
  end

  def reads
    # The price as text, for the library makes a number of it that has forgotten its scale.
    statement = 'SELECT id, title, body, views, likes, stock, CAST(price AS CHAR) FROM posts WHERE id = '
    say('row', row_of(rows("#{statement}1")[0]))
    say('prepared row', row_of(prepared_rows("#{statement}?", 1)[0]))
    list = 'SELECT id, title, views FROM posts WHERE id <= 5 ORDER BY views DESC, id'
    say('list', *rows(list).map { |row| row_of(row) })
    say('sum', row_of(rows('SELECT COUNT(*), SUM(views), MAX(likes) FROM posts')[0]))
    days = rows('SELECT CAST(day AS CHAR), hits FROM sign_ups ORDER BY day')
    say('days', *days.map { |row| row_of(row) })
    result = client.query('SELECT * FROM posts WHERE id = 1')
    types = result.respond_to?(:field_types) ? result.field_types : []
    say('columns', *result.fields, *types)
    say('values', *result.to_a[0].map(&:inspect))
  end

  def unicode
    title = 'Ångström’s 😀'
    inserted = execute('INSERT INTO posts (id, title, body) VALUES (20001, ?, ?)', title, nil)
    row = prepared_rows('SELECT id, title, body, views FROM posts WHERE title = ?', title)[0]
    say('unicode', inserted, row_of(row), execute('DELETE FROM posts WHERE id = ?', 20_001))
  end

  def large
    execute('UPDATE posts SET picture = ?, body = ? WHERE id = 2', ALL_BYTES, LONG_TEXT)
    picture, body, views = rows('SELECT picture, body, views FROM posts WHERE id = 2')[0]
    there = rows('SELECT SHA2(picture, 256), SHA2(body, 256) FROM posts WHERE id = 2')[0]
    here = [picture, body].map { |value| Digest::SHA256.hexdigest(value) }
    say('large', picture.bytesize, body.bytesize, views, *there)
    say('came back', *here)
  end

  def stream
    count = total = letters = 0
    statement = 'SELECT id, title, views FROM posts WHERE id > 10 ORDER BY id'
    client.query(statement, stream: true, cache_rows: false).each do |id, title, views|
      count += 1
      total += id * views
      letters += title.length
    end
    say('stream', count, total, letters)
  end

  def errors
    codes = []
    [
      "INSERT INTO posts (id, title) VALUES (1, 'again')",
      'UPDATE posts SET views = views + WHERE id = 1',
      'UPDATE posts SET views = views + 1, nothing = 1 WHERE id = 1',
      'SELECT views, nothing FROM posts',
      'UPDATE posts SET stock = stock - 1 WHERE id = 1'
    ].each do |statement|
      run(statement)
    rescue Mysql2::Error => e
      codes << e.error_number
      say('error', e.error_number, e.sql_state, e.message)
    end
    say('errors', *codes)
  end

  def warnings
    changed = run("UPDATE posts SET price = '1.239' WHERE id = 7")
    say('told', changed, client.warning_count, client.query_info_string)
    cast = rows("SELECT CAST('12abc' AS SIGNED), views FROM posts WHERE id = 1")[0]
    say('warned', client.warning_count, row_of(cast))
    _, code, message = rows('SHOW WARNINGS')[0]
    say('warning', code)
    say('message', message)
  end

  def several
    result = client.query(
      'SELECT views FROM posts WHERE id = 1; DO 0; SELECT title FROM posts WHERE id = 5; SELECT COUNT(*) FROM seq'
    )
    found = [result.to_a]
    while client.next_result
      result = client.store_result
      found << (result ? result.to_a : client.affected_rows)
    end
    say('several', *found.map(&:inspect))
  end
end

# Closes the connection, and goes on with another.
def again(blog, address)
  blog.run('SET @mine = 1')
  blog.client.close
  blog = Blog.new(address)
  say('again', row_of(blog.rows('SELECT views, @mine FROM posts WHERE id = 1')[0]))
  blog
end

# How many of the rows were affected when four connections run a statement so often each.
def together(address, statement, count)
  blogs = Array.new(4) { Blog.new(address) }
  threads = blogs.map { |blog| Thread.new { Array.new(count) { blog.execute(statement, 3) } } }
  affected = threads.flat_map(&:value)
  blogs.each { |blog| blog.client.close }
  "#{affected.sum} of #{affected.size}"
end

def crowd(blog, address)
  crowd = together(address, 'UPDATE posts SET views = views + 1 WHERE id = ?', 10)
  sold = together(address, 'UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1', 5)
  say('crowd', crowd, 'and', sold, 'leave', row_of(blog.rows('SELECT views, stock FROM posts WHERE id = 3')[0]))
end

_driver, *address = ARGV
if address.empty?
  puts "#{Mysql2::VERSION}, libmariadb #{Mysql2::Client.info[:version]}"
  exit
end
blog = Blog.new(address)
%i[increments transactions other_writes reads unicode large stream errors warnings several].each do |step|
  blog.send(step)
end
blog = again(blog, address)
crowd(blog, address)
blog.client.close
puts 'finished'
