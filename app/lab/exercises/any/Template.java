import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;

/**
 * Your program, in Java. What is below is how everybody begins: it works on a quiet day.
 *
 *   javac -d mine app/lab/exercises/any/Template.java; make exercise CMD='java -Xshare:auto -cp mine Template'
 */
class Template {
    private final Socket socket;

    Template(URI url) throws IOException {
        socket = new Socket(url.getHost(), url.getPort());
        socket.setTcpNoDelay(true);
    }

    /** One command, sent at once; its answer as text, null for nil. An error, or no answer, is an exception. */
    String redis(String... words) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.write(("*" + words.length + "\r\n").getBytes());
        for (String word : words) bytes.write(("$" + word.getBytes().length + "\r\n" + word + "\r\n").getBytes());
        socket.getOutputStream().write(bytes.toByteArray());
        String line = line(socket.getInputStream());
        if (line.isEmpty() || line.startsWith("-")) throw new IOException(line);
        if (!line.startsWith("$")) return line.substring(1);
        int size = Integer.parseInt(line.substring(1));
        return size < 0 ? null : new String(socket.getInputStream().readNBytes(size + 2), 0, size);
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int letter; (letter = in.read()) >= 0 && letter != '\n'; ) if (letter != '\r') line.append((char) letter);
        return line.toString();
    }

    String buy(String stock, String orders, String lock, String buyer) throws IOException {
        // Take the lock: who comes second gets 0.
        if (!"1".equals(redis("SETNX", lock, "taken"))) return "busy";

        // What is left? Sell that, and write it down.
        String result = "sold-out";
        int left = Integer.parseInt(redis("GET", stock));
        if (redis("HGET", orders, buyer) != null) {
            result = "already";
        } else if (left > 0) {
            redis("SET", stock, String.valueOf(left - 1));
            redis("HSET", orders, buyer, System.getenv("LAB_ORDER"));
            result = "sold";
        }

        // Give the lock back.
        redis("DEL", lock);
        return result;
    }

    public static void main(String[] args) {
        String result = "unknown";
        try {
            result = new Template(URI.create(System.getenv("LAB_REDIS_URL"))).buy(System.getenv("LAB_STOCK_KEY"),
                    System.getenv("LAB_ORDERS_KEY"), System.getenv("LAB_LOCK_KEY"), System.getenv("LAB_BUYER"));
        } catch (IOException lost) {
            System.err.println(lost);
        }
        System.out.println("{\"result\":\"" + result + "\"}");
    }
}
