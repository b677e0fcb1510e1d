# Sequel, on mysql2.

require "sequel"
require "mysql2"
require_relative "talk"

to = introduce("Sequel", Sequel.version, "mysql2 #{Mysql2::VERSION}", <<~SQL, ["views", "likes"], ["updated_at"])
  CREATE TABLE `posts` (`id` integer PRIMARY KEY AUTO_INCREMENT, `title` varchar(100), `views` integer DEFAULT 0 NOT NULL,
  `likes` bigint DEFAULT 0 NOT NULL, `updated_at` datetime)
SQL
DB = Sequel.connect(adapter: "mysql2", user: to[:username], **to)
Sequel.default_timezone = :utc

class Post < Sequel::Model(:posts)
  plugin :timestamps, update_on_create: true, update: :updated_at
end

run([
  "DB[:posts].where(id: 1).update(views: Sequel[:views] + 1)",
  "DB[:posts].where(id: [1, 2]).update(likes: Sequel[:likes] - 2)",
  "DB[:posts].where(id: 2).update(views: Sequel[:views] + 1, updated_at: Sequel::CURRENT_TIMESTAMP)",
  "Post[3].this.update(views: Sequel.expr(1) + :views)",
  "Post[3].update(views: Sequel[:views] + 1)",
])
