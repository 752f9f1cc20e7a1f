/*
 * The line protocol of peer.h for a library in Java: what each request comes to its subclass says.
 *
 * Each thread number of the protocol is one Java thread. The program ends with its standard input, at once: what it
 * holds is left to the server.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

abstract class LinePeer {
    private final Map<String, ExecutorService> threads = new HashMap<>();

    /** One line of input. */
    record Request(String id, String thread, String verb, String kind, String key,
                   Map<String, String> options) {
        static Request parse(String line) {
            String[] words = line.split(" ");
            Map<String, String> options = new HashMap<>();

            for (String word : Arrays.copyOfRange(words, 5, words.length)) {
                String[] pair = word.split("=", 2);
                options.put(pair[0], pair[1]);
            }
            return new Request(words[0], words[1], words[2], words[3], words[4], options);
        }

        long number(String name, long otherwise) {
            return Long.parseLong(options.getOrDefault(name, Long.toString(otherwise)));
        }

        /** Whose lock it is: a thread has one of each kind and key. */
        String holder() {
            return thread + " " + kind + " " + key;
        }
    }

    /** "ok", or another word of lk_status; of "version" the version. */
    abstract String step(Request request) throws Exception;

    /** "ShedLock-6.9.2": the number is the jar's. */
    static String versionOf(String name, Class<?> type) {
        String jar = type.getProtectionDomain().getCodeSource().getLocation().getPath();

        return name + jar.replaceAll(".*(-[0-9.]+)\\.jar", "$1");
    }

    private static void say(Request request, String result, String value, long began) {
        String line = String.join(" ", request.id(), result, value, Long.toString(began),
                                  Long.toString(System.nanoTime()));

        synchronized (System.out) {
            System.out.println(line);
            System.out.flush();
        }
    }

    private void answer(Request request) {
        long began = System.nanoTime();

        try {
            String result = step(request);
            boolean isVersion = request.verb().equals("version");
            say(request, isVersion ? "ok" : result, isVersion ? result : "-", began);
        } catch (Exception fault) {
            say(request, "error", fault.toString().replaceAll("\\s+", "_"), began);
        }
    }

    void serve() throws Exception {
        BufferedReader input =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Request request = Request.parse(line);
            threads.computeIfAbsent(request.thread(), name -> Executors.newSingleThreadExecutor())
                .execute(() -> answer(request));
        }
        Runtime.getRuntime().halt(0);
    }
}
