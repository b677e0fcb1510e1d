-- Each event is one statement, sent as text.

sysbench.cmdline.options = {
   statement = {"The statement to send", "DO 0"}
}

function thread_init()
   connection = sysbench.sql.driver():connect()
end

function event()
   connection:query(sysbench.opt.statement)
end

function thread_done()
   connection:disconnect()
end
