import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.streaming.api.graph.StreamEdge;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.flink.streaming.runtime.partitioner.ForwardPartitioner;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.DataType;

/**
 * Flink as a side of a comparison: one job on a cluster within this process, told by standard input what to wait for.
 *
 * <p>The argument is a file of SQL statements, separated by lines that hold a semicolon only. SET statements are
 * settings of the cluster and the job. The last statement is a query of rows (label INT, a DOUBLE, b DOUBLE), which
 * are added up by label where they are made.
 *
 * <p>Lines of input: "wait MILLIS" replies "done" when all rows up to a watermark have reached the sink and a checkpoint
 * is complete; "totals" replies with a line per label and "done"; "times" likewise with the arrival of the last row of
 * each label. The end of the input ends the process.
 */
public final class FlinkPeer {
    private static final int PARALLELISM = 2;
    private static final int PATIENCE = Integer.getInteger("drover.patience", 120); // seconds
    private static final Pattern SETTING = Pattern.compile("SET '([^']*)' = '([^']*)'");
    private static final DataType ROW =
            DataTypes.ROW(
                            DataTypes.FIELD("label", DataTypes.INT().notNull()),
                            DataTypes.FIELD("a", DataTypes.DOUBLE().notNull()),
                            DataTypes.FIELD("b", DataTypes.DOUBLE().notNull()))
                    .notNull()
                    .bridgedTo(RowData.class);

    private FlinkPeer() {}

    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        List<String> statements = new ArrayList<>();
        for (String text : Files.readString(Path.of(arguments[0])).split("\n;\n")) {
            Matcher setting = SETTING.matcher(text.strip());
            if (setting.matches()) {
                settings.setString(setting.group(1), setting.group(2));
            } else {
                statements.add(text.strip());
            }
        }
        MiniClusterConfiguration cluster =
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(settings)
                        .setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(PARALLELISM)
                        .build();
        try (MiniCluster running = new MiniCluster(cluster)) {
            running.start();
            JobID job = running.submitJob(graph(settings, statements)).get().getJobID();
            reply("ready");
            serve(running, job);
            running.cancelJob(job).get();
        }
        System.exit(0); // threads of the cluster would keep the process alive
    }

    private static JobGraph graph(Configuration settings, List<String> statements) {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        environment.setParallelism(PARALLELISM);
        StreamTableEnvironment tables =
                StreamTableEnvironment.create(
                        environment,
                        EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());
        int last = statements.size() - 1;
        statements.subList(0, last).forEach(tables::executeSql);
        Table results = tables.sqlQuery(statements.get(last));
        CountingSink.prepare(Boolean.getBoolean("drover.times"));
        tables.<RowData>toDataStream(results, ROW).sinkTo(new CountingSink());
        StreamGraph graph = environment.getStreamGraph();
        graph.getSourceIDs().forEach(source -> narrow(graph, graph.getStreamNode(source)));
        return graph.getJobGraph();
    }

    /**
     * Gives a source and what is chained to it one task. A batch of a source is one file, so a second reader would have
     * nothing to read and hold back the watermark. Flink calls such readers idle after a while and goes on without them,
     * but then a join may forget rows that the other input still needs.
     */
    private static void narrow(StreamGraph graph, StreamNode node) {
        node.setParallelism(1);
        for (StreamEdge edge : node.getOutEdges()) {
            if (edge.getPartitioner() instanceof ForwardPartitioner) {
                narrow(graph, graph.getStreamNode(edge.getTargetId()));
            }
        }
    }

    private static void serve(MiniCluster running, JobID job) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("wait")) {
                await(running, job, Long.parseLong(words[1]));
                running.triggerCheckpoint(job, CheckpointType.CONFIGURED).get();
            } else if (words[0].equals("totals")) {
                CountingSink.totals().forEach(FlinkPeer::reply);
            } else if (words[0].equals("times")) {
                CountingSink.times().forEach(FlinkPeer::reply);
            } else {
                throw new IllegalArgumentException("the order is '" + line + "', but must be wait, totals or times");
            }
            reply("done");
        }
    }

    private static void await(MiniCluster running, JobID job, long watermark) throws Exception {
        for (int second = 0; !CountingSink.reached(watermark, 1000); second++) {
            if (running.getJobStatus(job).get().isGloballyTerminalState()) {
                running.requestJobResult(job).get().toJobExecutionResult(FlinkPeer.class.getClassLoader());
                throw new IllegalStateException("the job has ended before its input");
            }
            if (second == PATIENCE) {
                String found = CountingSink.watermarks();
                throw new IllegalStateException("watermarks are " + found + ", but must reach " + watermark);
            }
        }
    }

    private static void reply(String text) {
        System.out.println(text);
        System.out.flush();
    }
}
