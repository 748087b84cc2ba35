import { Kbd, Modal } from "@mantine/core";
import classes from "./HelpSheet.module.css";

const GROUPS: { title: string; keys: [string[], string][] }[] = [
  {
    title: "Everywhere",
    keys: [
      [["g", "c"], "Go to captures"],
      [["g", "a"], "Go to agents"],
      [["g", "s"], "Go to SQL"],
      [["/"], "Focus the filter"],
      [["?"], "This sheet"],
      [["Esc"], "Close, or leave the filter"],
    ],
  },
  {
    title: "Lists",
    keys: [
      [["j", "k"], "Next, previous row, as ↓ ↑"],
      [["PgDn", "PgUp"], "A page down, up"],
      [["Home", "End"], "First, last row"],
      [["Enter"], "Open the row"],
    ],
  },
  {
    title: "Charts",
    keys: [
      [["→", "←"], "Next, previous step"],
      [["Shift", "→"], "Mark a span"],
      [["Enter"], "Zoom into the span"],
      [["Esc"], "Show the whole"],
    ],
  },
  {
    title: "Sequence graph",
    keys: [
      [["+", "−"], "Zoom in, out, as ↑ ↓"],
      [["→", "←"], "Later, earlier"],
      [["PgDn", "PgUp"], "A window later, earlier"],
      [["0"], "Show all"],
      [[",", "."], "Previous, next packet"],
      [["Enter"], "Open the packet"],
      [["Shift", "Drag"], "Zoom into a span"],
    ],
  },
  {
    title: "Packet",
    keys: [
      [["→", "←"], "Open, close a group of fields"],
      [["↓", "↑"], "Next, previous field"],
      [["Click"], "On a byte: select its field; again: the next field in that byte"],
    ],
  },
  {
    title: "SQL",
    keys: [
      [["Ctrl", "Enter"], "Run (⌘ Enter on a Mac)"],
      [["Ctrl", "Space"], "Complete"],
      [["Esc", "Tab"], "Leave the editor"],
    ],
  },
];

export function HelpSheet({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard" size="xl" centered>
      <div className={classes.groups}>
        {GROUPS.map((group) => (
          <section key={group.title}>
            <h3 className={classes.title}>{group.title}</h3>
            <dl className={classes.list}>
              {group.keys.map(([keys, what]) => (
                <div key={what} className={classes.row}>
                  <dt>
                    {keys.map((key) => (
                      <Kbd key={key} size="xs">
                        {key}
                      </Kbd>
                    ))}
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
