# A shell that counts, reads and appends by itself, and starts others. The kernel says what its process has used.
i=0
while [ $i -lt 30000 ]; do
    i=$((i + 1))
done
for word in a b c d e f; do
    echo "$word" >>words
    sleep 0.02
done
while read -r word; do
    echo "again $word" >>again
done <words
sort words | uniq >sorted
read -r used rest </proc/$$/schedstat
echo "pid=$$ cpu_user_sys_ns=$used"
