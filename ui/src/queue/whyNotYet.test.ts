import { expect, test } from "vitest";
import { whyNothingIsTaken, whyTasksWait } from "./whyNotYet";

const GROUP = {
  ...{ worker_group: "default", waiting: 1, running: 0, workers: 2, places: 8 },
  ...{ free_places: 0, drained_workers: 0, busy_workers: 0 },
};

test("full, drained and BUSY workers are told apart", () => {
  expect(whyTasksWait({ ...GROUP, waiting: 0 })).toBe("groupGoesOn");
  expect(whyTasksWait({ ...GROUP, workers: 0 })).toBe("groupNoWorker");
  expect(whyTasksWait({ ...GROUP, free_places: 3, drained_workers: 1 })).toBe("groupSoon");
  expect(whyTasksWait(GROUP)).toBe("groupFull");
  expect(whyTasksWait({ ...GROUP, drained_workers: 2, busy_workers: 1 })).toBe("groupDrained");
  expect(whyTasksWait({ ...GROUP, busy_workers: 2, drained_workers: 1 })).toBe("groupBusy");
  expect(whyTasksWait({ ...GROUP, drained_workers: 1 })).toBe("groupOthersFull");
});

test("masters that are drained are not said to be dead", () => {
  expect(whyNothingIsTaken({ total: 1, masters: 2, drained_masters: 1 })).toBeNull();
  expect(whyNothingIsTaken({ total: 0, masters: 0, drained_masters: 0 })).toBe("noMaster");
  expect(whyNothingIsTaken({ total: 0, masters: 2, drained_masters: 2 })).toBe("mastersDrained");
  expect(whyNothingIsTaken({ total: 0, masters: 2, drained_masters: 1 })).toBe("noSlot");
});
