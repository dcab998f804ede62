# A PostgreSQL server on a Unix socket, from a data folder that initdb and pgbench have made, for one benchmark.
# Arguments: the folder of PostgreSQL's programs, transactions of a client.
PATH=$1:$PATH
postgres -D data -k "$PWD" -c listen_addresses= >server.log 2>&1 &
server=$!
trap 'kill -QUIT $server 2>/dev/null' EXIT
tries=0
until pg_isready -q -h "$PWD"; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || exit 1
    sleep 0.05
done
pgbench -h "$PWD" -U postgres -n -c 2 -t "$2" postgres >pgbench.log 2>&1 || exit 1
kill -INT $server
wait $server
