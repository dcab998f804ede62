// Two threads that write files through streams, read them, copy and delete them. Argument: how many files.

import java.io.*;
import java.nio.file.*;
import java.util.concurrent.*;

public class Table {
    static long work(int number) throws IOException {
        Path path = Path.of("part" + number);
        try (PrintWriter out = new PrintWriter(new BufferedWriter(new FileWriter(path.toFile())))) {
            for (int line = 0; line < 4000; line++)
                out.println(number + " " + (long) line * line);
        }
        long sum = 0;
        try (BufferedReader lines = Files.newBufferedReader(path)) {
            for (String line; (line = lines.readLine()) != null;)
                sum += Long.parseLong(line.substring(line.indexOf(' ') + 1));
        }
        Files.write(Path.of("copy" + number), Files.readAllBytes(path));
        Files.delete(path);
        return sum;
    }

    public static void main(String[] words) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        var sums = new java.util.ArrayList<Future<Long>>();
        for (int number = 0; number < Integer.parseInt(words[0]); number++) {
            int part = number;
            sums.add(pool.submit(() -> work(part)));
        }
        try (FileWriter out = new FileWriter("sums")) {
            for (Future<Long> sum : sums)
                out.write(sum.get() + "\n");
        }
        pool.shutdown();
    }
}
