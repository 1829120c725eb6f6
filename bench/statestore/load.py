"""What is launched: workflows at once, their messages in the order they are sent, and the truth of it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from spark_jobs.statestore.keys import workflow_id
from spark_jobs.statestore.messages import TASKS, Message, task_print
from spark_jobs.statestore.payloads import payload

#: Every so manieth task never completes: its timer must find it.
STUCK_EVERY = 1_000


def new_launch_id() -> str:
    return secrets.token_hex(4)


@dataclass(frozen=True)
class Launch:
    """`workflows` in flight at the same time, each of `tasks` TaskRuns with a payload of `size` bytes."""

    workflows: int
    size: int
    launch: str = field(default_factory=new_launch_id)
    tasks: int = TASKS
    stuck_every: int = STUCK_EVERY

    def __post_init__(self) -> None:
        workflow_id(self.launch, max(0, self.workflows - 1))
        if self.workflows < 1 or self.size < 0 or not 1 <= self.tasks <= 1_000 or self.stuck_every < 2:
            raise ValueError(f"not a launch: {self}")

    def name_of(self, number: int) -> str:
        return workflow_id(self.launch, number)

    def stuck(self, number: int, task: int) -> bool:
        """Spread over the workflows, and none twice in a row."""
        return (number * self.tasks + task + 1) % self.stuck_every == 0

    def order(self) -> Iterator[tuple[str, int, int]]:
        """Kind, workflow and task of every message: all workflows take a step before any takes the next."""
        for number in range(self.workflows):
            yield "workflow", number, 0
        for task in range(self.tasks):
            for number in range(self.workflows):
                yield "task-start", number, task
            for number in range(self.workflows):
                if not self.stuck(number, task):
                    yield "task-complete", number, task

    @property
    def truth(self) -> Truth:
        every = [(number, task) for number in range(self.workflows) for task in range(self.tasks)]
        stuck = frozenset(f"{self.name_of(one)}/{task}" for one, task in every if self.stuck(one, task))
        return Truth(
            workflows=frozenset(self.name_of(number) for number in range(self.workflows)),
            task_runs=len(every),
            completes=len(every) - len(stuck),
            stuck=stuck,
            prints=sum(task_print(self.name_of(number), task) for number, task in every),
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Truth:
    """What a launch, or several, must leave behind."""

    workflows: frozenset[str]
    task_runs: int
    completes: int
    #: Tasks that never complete.
    stuck: frozenset[str]
    prints: int
    grown: int = 0

    @property
    def messages(self) -> int:
        """Those of workflows; what grew the store before comes on top."""
        return len(self.workflows) + self.task_runs + self.completes

    def __add__(self, other: Truth) -> Truth:
        return Truth(
            self.workflows | other.workflows,
            self.task_runs + other.task_runs,
            self.completes + other.completes,
            self.stuck | other.stuck,
            self.prints + other.prints,
            self.grown + other.grown,
        )


NOTHING = Truth(frozenset(), 0, 0, frozenset(), 0)


def message(launch: Launch, what: tuple[str, int, int], sent_ms: int) -> Message:
    kind, number, task = what
    name = launch.name_of(number)
    match kind:
        case "workflow":
            return Message("workflow", name, sent_ms, tasks=launch.tasks)
        case "task-start":
            return Message("task-start", name, sent_ms, task)
        case _:
            return Message("task-complete", name, sent_ms, task, payload(launch.size, number, task))


@dataclass(frozen=True)
class Growth:
    """State to begin with: TaskRuns of long ago, `total_bytes` of them in all."""

    total_bytes: int
    size: int = 10_000
    launch: str = field(default_factory=new_launch_id)
    tasks: int = TASKS

    @property
    def workflows(self) -> int:
        return max(1, round(self.total_bytes / (self.size * self.tasks)))

    @property
    def truth(self) -> Truth:
        return Truth(frozenset(), 0, 0, frozenset(), 0, self.workflows * self.tasks)

    def messages(self, sent_ms: int) -> Iterator[tuple[int, Message]]:
        for number in range(self.workflows):
            name = workflow_id(self.launch, number)
            yield number, Message("grow", name, sent_ms, tasks=self.tasks, size=self.size)
