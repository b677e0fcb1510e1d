# Rails' Active Record, on mysql2; with the argument `prepared` it prepares its statements.

require "active_record"
require "mysql2"
require_relative "talk"

prepared = ARGV.include?("prepared")
driver = "mysql2 #{Mysql2::VERSION}#{", prepared_statements: true" if prepared}"
to = introduce("Rails Active Record", ActiveRecord.version.to_s, driver, <<~SQL, ["views", "likes"], ["updated_at"])
  CREATE TABLE `posts` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `title` varchar(100), `views` int DEFAULT 0 NOT NULL,
  `likes` bigint DEFAULT 0, `created_at` datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), `updated_at` datetime(6) NOT NULL)
SQL
ActiveRecord::Base.establish_connection(adapter: "mysql2", prepared_statements: prepared, **to)

class Post < ActiveRecord::Base
end

run([
  "Post.increment_counter(:views, 1)",
  "Post.increment_counter(:views, 1, touch: true)",
  "Post.update_counters([1, 2], views: 1, likes: -2, touch: true)",
  "Post.find(2).increment!(:likes, 3)",
  "Post.find(2).increment!(:views, touch: true)",
  'Post.where(id: 3).update_all("views = views + 1")',
  'Post.where(id: 3).update_all(["views = views + ?, updated_at = ?", 1, Time.now.utc])',
])
