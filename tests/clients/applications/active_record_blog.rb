# Rails' Active Record on mysql2: autocommit, and transactions around saves and where they are asked for; with the word
# `prepared` it prepares its statements.

require "active_record"
require "mysql2"

WORKERS = 4
DAYS = ["2026-11-22"] * 3 + ["2026-11-23"] * 2
STOCK = { 1 => 5, 3 => 12 }
$stdout.sync = true

if ARGV.size < 6
  puts "#{ActiveRecord.version}, mysql2 #{Mysql2::VERSION}"
  exit
end
TASK, HOST, PORT, USER, PASSWORD, SCHEMA = ARGV.last(6)
PLACE = { adapter: "mysql2", host: HOST, port: PORT.to_i, username: USER, password: PASSWORD, database: SCHEMA,
          encoding: "utf8mb4", pool: WORKERS + 1, prepared_statements: ARGV.include?("prepared") }
ActiveRecord::Base.establish_connection(**PLACE)

class Post < ActiveRecord::Base
  has_many :comments
end

class Comment < ActiveRecord::Base
  belongs_to :post
end

class SignUp < ActiveRecord::Base
  self.primary_key = "day"
end

def text_of(value)
  case value
  when nil then "NULL"
  when Array then value.map { |one| text_of(one) }.join("|")
  else value.to_s
  end
end

def say(*values)
  puts "   " + values.map { |value| text_of(value) }.join(" ")
end

def make
  ActiveRecord::Schema.verbose = false
  ActiveRecord::Schema.define do
    create_table :posts do |table|
      table.string :title, limit: 100
      table.integer :views, null: false, default: 0
      table.bigint :likes, null: false, default: 0
      table.integer :stock, null: false, default: 0, unsigned: true
      table.datetime :updated_at, null: false, precision: 6
    end
    create_table :comments do |table|
      table.references :post, null: false, foreign_key: true
      table.string :text, limit: 100
    end
    create_table :sign_ups, id: false do |table|
      table.date :day, primary_key: true
      table.integer :hits, null: false, default: 0
    end
  end
  (1..5).each { |id| Post.create!(id: id, title: "post #{id}", stock: STOCK.fetch(id, 0)) }
end

def add_view(id)
  Post.update_counters(id, views: 1)
end

def sell(id)
  Post.where(id: id).where("stock >= 1").update_all("stock = stock - 1")
end

def refused
  yield
  say "not refused"
rescue ActiveRecord::StatementInvalid => error
  say error.class, error.cause.error_number, error.cause.sql_state, error.cause.message
end

def in_crowd(times)
  threads = WORKERS.times.map do
    Thread.new { ActiveRecord::Base.connection_pool.with_connection { times.times.map { yield } } }
  end
  done = threads.flat_map(&:value)
  "#{done.sum} of #{done.size}"
end

STEPS = {
  views: -> { say(*6.times.map { add_view(1) }) },
  likes: lambda {
    3.times do
      post = Post.find(2)
      post.increment!(:likes, 2, touch: true)
      say post.reload.likes
    end
  },
  transactions: lambda {
    2.times do |number|
      Post.transaction do
        Comment.create!(post_id: 3, text: "comment #{number}")
        Post.update_counters(3, likes: 10)
      end
    end
    Post.transaction do
      Post.update_counters(3, likes: 100)
      say Post.find(3).likes
      raise ActiveRecord::Rollback
    end
    Post.transaction do
      # A SAVEPOINT within.
      Post.transaction(requires_new: true) do
        Post.update_counters(3, likes: 1000)
        raise ActiveRecord::Rollback
      end
    end
    post = Post.includes(:comments).find(3)
    say post.likes, post.comments.map(&:text)
  },
  stock: -> { say(*8.times.map { sell(1) }) },
  sign_ups: lambda {
    DAYS.each do |day|
      signed = SignUp.create_or_find_by!(day: day)
      signed.increment!(:hits)
      say signed.reload.hits
    end
  },
  sequence: lambda {
    3.times { say ActiveRecord::Base.connection.insert("UPDATE seq SET id = LAST_INSERT_ID(id + 1)") }
  },
  edit: -> { Post.find(4).update!(title: "Grüße, 漢字 😀") },
  reads: lambda {
    popular = Post.order(views: :desc, id: :asc).limit(3)
    say(*popular.map { |post| [post.id, post.title, post.views, post.likes, post.stock] })
    say Post.count, Post.sum(:views), Post.maximum(:likes)
    say(*Post.where("likes > 1").order(:id).pluck(:id))
    say(*Post.left_joins(:comments).group(:id, :views).order(:id).count("comments.id").to_a.map(&:flatten))
    say(*SignUp.order(:day).pluck(:day, :hits))
  },
  errors: lambda {
    refused { Post.create!(id: 1, title: "again") }
    refused { Post.update_counters(2, stock: -1) }
    refused { Post.select("views, nothing").to_a }
  },
  reconnect: lambda {
    ActiveRecord::Base.connection.execute("SET @mine = 1")
    ActiveRecord::Base.connection.reconnect!
    say(*ActiveRecord::Base.connection.select_rows("SELECT @mine, views FROM posts WHERE id = 1").first)
  },
  crowd: -> { say in_crowd(10) { add_view(3) }, in_crowd(5) { sell(3) } },
}

if TASK == "make"
  make
else
  STEPS.each do |name, step|
    puts "> #{name}"
    $stdin.gets
    step.call
  end
  puts "finished"
end
