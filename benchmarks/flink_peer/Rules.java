import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.TableFunction;

/**
 * All rules in memory, as an expert would write it: the rules that a reading meets, found in those of its site.
 *
 * <p>The rules of a site are sorted by their least value, so that the search ends at the first that is not met. The file
 * has a line "rule,site,least" per rule.
 */
@FunctionHint(output = @DataTypeHint("INT"))
public final class Rules extends TableFunction<Integer> {
    private transient Map<String, SiteRules> bySite;

    private record SiteRules(double[] least, Integer[] rule) {}

    @Override
    public void open(FunctionContext context) throws IOException {
        Map<String, List<String[]>> lines = new HashMap<>();
        for (String line : Files.readAllLines(Path.of(context.getJobParameter("rules", "")))) {
            String[] fields = line.split(",");
            lines.computeIfAbsent(fields[1], site -> new ArrayList<>()).add(fields);
        }
        bySite = new HashMap<>();
        lines.forEach((site, rules) -> bySite.put(site, sorted(rules)));
    }

    private static SiteRules sorted(List<String[]> rules) {
        rules.sort((one, other) -> Double.compare(Double.parseDouble(one[2]), Double.parseDouble(other[2])));
        return new SiteRules(
                rules.stream().mapToDouble(fields -> Double.parseDouble(fields[2])).toArray(),
                rules.stream().map(fields -> Integer.valueOf(fields[0])).toArray(Integer[]::new));
    }

    public void eval(String site, Double value) {
        SiteRules rules = bySite.get(site);
        if (rules == null) {
            return;
        }
        for (int k = 0; k < rules.least.length && value > rules.least[k]; k++) {
            collect(rules.rule[k]);
        }
    }
}
