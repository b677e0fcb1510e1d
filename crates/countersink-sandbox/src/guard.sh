# Runs a server, and outlives the process that wants it just long enough to clean up.
#
#   sh -c <this text> guard FOLDER PROGRAM ARGUMENT...
#
# FOLDER is made here, so that there is no moment at which it is nobody's; "made" says so, or else
# why not. Output goes to FOLDER/log from then on.
#
# The wanting process holds the other end of standard input. A line of it is an order: START runs
# the server, at first and again after it ended; a signal's name goes to the running server. When
# the input ends, because that process closed it or died, the server is killed and FOLDER is
# removed. FOLDER/ended holds the server's exit status from the time it ended; the one who orders
# START removes it first.

folder=$1
shift
exec 3<&0 2>&1
mkdir -m 700 -- "$folder" || exit
# Nobody may be there to hear it, which is no reason to die before the folder is removed.
trap '' PIPE
echo made
trap - PIPE
exec >"$folder/log" 2>&1

run_server() {
    "$@" 3<&- &
    server=$!
    # Signals are given by a process that ends before the server's number can go to another.
    {
        while read -r order; do kill -s "$order" "$server"; done
        kill -s KILL "$server"
    } <&3 2>/dev/null &
    orders=$!
    wait "$server"
    status=$?
    kill "$orders" 2>/dev/null
    wait "$orders" 2>/dev/null
    echo "$status" >"$folder/ended"
}

while read -r order <&3; do
    # A signal that came too late for the server finds nobody here.
    [ "$order" = START ] && run_server "$@"
done
rm -rf -- "$folder"
