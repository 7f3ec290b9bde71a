import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.table.data.RowData;

/**
 * A sink that adds up its rows by label and drops them, as cheaply as it can, and knows the watermark of its writers.
 *
 * <p>Each writer fills arrays of its own, so that writers do not wait for each other. A writer publishes what it has
 * added up with its watermark; whoever has seen that watermark sees the sums.
 */
public final class CountingSink implements Sink<RowData> {
    private static final Object CHANGED = new Object();
    private static final List<Tally> TALLIES = new ArrayList<>(); // one per writer
    private static boolean timed;
    private static int writers; // that there will be, known to the first of them

    /** The sums of one writer; columns are count, sum of a, sum of b. */
    private static final class Tally {
        double[][] sums = new double[16][];
        long[] last = new long[16]; // milliseconds of the clock, by label
        long watermark = Long.MIN_VALUE;
    }

    static void prepare(boolean withTimes) {
        timed = withTimes;
    }

    /** Waits up to so many milliseconds until all writers have reached a watermark; returns whether they have. */
    static boolean reached(long watermark, long patience) throws InterruptedException {
        long end = System.currentTimeMillis() + patience;
        synchronized (CHANGED) {
            while (TALLIES.isEmpty()
                    || TALLIES.size() < writers
                    || TALLIES.stream().anyMatch(each -> each.watermark < watermark)) {
                long left = end - System.currentTimeMillis();
                if (left <= 0) {
                    return false;
                }
                CHANGED.wait(left);
            }
            return true;
        }
    }

    static String watermarks() {
        synchronized (CHANGED) {
            return Arrays.toString(TALLIES.stream().mapToLong(each -> each.watermark).toArray());
        }
    }

    static List<String> totals() {
        List<String> lines = new ArrayList<>();
        synchronized (CHANGED) {
            for (Tally tally : TALLIES) {
                for (int label = 0; label < tally.sums.length; label++) {
                    double[] sums = tally.sums[label];
                    if (sums != null) {
                        lines.add("total " + label + " " + sums[0] + " " + sums[1] + " " + sums[2]);
                    }
                }
            }
        }
        return lines;
    }

    static List<String> times() {
        List<String> lines = new ArrayList<>();
        synchronized (CHANGED) {
            for (Tally tally : TALLIES) {
                for (int label = 0; label < tally.last.length; label++) {
                    if (tally.last[label] > 0) {
                        lines.add("time " + label + " " + tally.last[label]);
                    }
                }
            }
        }
        return lines;
    }

    @Override
    public SinkWriter<RowData> createWriter(WriterInitContext context) {
        Tally tally = new Tally();
        synchronized (CHANGED) {
            writers = context.getTaskInfo().getNumberOfParallelSubtasks();
            TALLIES.add(tally);
        }
        return new Writer(tally, timed);
    }

    private record Writer(Tally tally, boolean timed) implements SinkWriter<RowData> {
        @Override
        public void write(RowData row, Context context) {
            int label = row.getInt(0);
            if (label >= tally.sums.length) {
                tally.sums = Arrays.copyOf(tally.sums, 2 * label);
                tally.last = Arrays.copyOf(tally.last, 2 * label);
            }
            double[] sums = tally.sums[label];
            if (sums == null) {
                sums = tally.sums[label] = new double[3];
            }
            sums[0] += 1;
            sums[1] += row.getDouble(1);
            sums[2] += row.getDouble(2);
            if (timed) {
                tally.last[label] = System.currentTimeMillis();
            }
        }

        @Override
        public void writeWatermark(Watermark watermark) {
            synchronized (CHANGED) {
                tally.watermark = watermark.getTimestamp();
                CHANGED.notifyAll();
            }
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public void close() {}
    }
}
