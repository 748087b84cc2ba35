import { expect, it } from "vitest";
import { positionOf } from "./sqlError";

it.each([
  ["Syntax error: failed at position 15 ('FORM') (line 2, col 3): FORM flows", { line: 2, column: 3 }],
  ["Syntax error: failed at position 8 (end of query): .", { line: 1, column: 8 }],
  ["Not enough privileges", undefined],
])("finds the place in %j", (message, place) => {
  expect(positionOf(message)).toEqual(place);
});
