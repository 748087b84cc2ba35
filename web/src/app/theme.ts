import { createTheme, type MantineColorsTuple } from "@mantine/core";

const lens: MantineColorsTuple = [
  "#e6f7fa",
  "#cdecf1",
  "#9dd9e3",
  "#69c4d4",
  "#40b3c7",
  "#25a6bd",
  "#1599b1",
  "#0b8298",
  "#0b7285",
  "#075c6c",
];

/** Cool greys; 7 is the page, 6 a surface, 4 a border, 0 text. */
const dark: MantineColorsTuple = [
  "#dce2ea",
  "#b6c0cc",
  "#95a1b0",
  "#6b7786",
  "#343d49",
  "#2a323c",
  "#1a2028",
  "#12161c",
  "#0d1015",
  "#090b0f",
];

export const theme = createTheme({
  primaryColor: "lens",
  primaryShade: { light: 8, dark: 7 },
  colors: { lens, dark },
  fontFamily: "'Inter Variable', system-ui, sans-serif",
  fontFamilyMonospace: "'JetBrains Mono Variable', ui-monospace, monospace",
  defaultRadius: "sm",
  respectReducedMotion: true,
  autoContrast: true,
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.125rem" },
  components: {
    Tooltip: { defaultProps: { openDelay: 250, multiline: true, maw: 340, events: { hover: true, focus: true, touch: true } } },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray" } },
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "xs" } },
    Select: { defaultProps: { size: "xs" } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    Switch: { defaultProps: { size: "xs" } },
    Modal: {
      styles: {
        content: { background: "var(--rl-surface)" },
        header: { background: "var(--rl-surface)" },
        title: { fontWeight: 600 },
      },
    },
    Menu: { defaultProps: { shadow: "md", position: "bottom-end", withinPortal: true } },
  },
});
