import { useMediaQuery } from "@mantine/hooks";

/** Whether the window is as narrow as a phone's; the style sheets use the same width. */
export function useNarrow(): boolean {
  return useMediaQuery("(max-width: 700px)", false, { getInitialValueInEffect: false });
}
