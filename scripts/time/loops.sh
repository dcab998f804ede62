# A file is opened for every line, then one is read and one written line by line. Argument: how many lines.
for i in $(seq "$1"); do
    echo "$i" >>log
done
while read -r line; do
    echo "$line"
done <lines >copy
