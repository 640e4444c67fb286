/** Reads the model's questions and todo list from a tool call whose input may be incomplete. */
import type {
  Question,
  QuestionOption,
  Todo,
  ToolPart
} from '../../protocol/generated';
import { isObject, listOrEmpty, textOrEmpty } from '../../protocol/jsonValues';

/** The tool that asks questions, and the one that keeps the todo list. */
export const QUESTION = 'question';
export const TODOWRITE = 'todowrite';

const STATUSES: readonly Todo['status'][] = [
  'pending',
  'in_progress',
  'completed',
  'cancelled'
];
const PRIORITIES: readonly Todo['priority'][] = ['high', 'medium', 'low'];

/** Returns the questions of a call; empty if none can be read. */
export function questionsOf({ state }: ToolPart): Question[] {
  return listOrEmpty(state.input.questions).flatMap((value): Question[] => {
    if (!isObject(value) || typeof value.question !== 'string') {
      return [];
    }
    return [
      {
        question: value.question,
        header: textOrEmpty(value.header),
        options: listOrEmpty(value.options).flatMap(readOption),
        multiple: value.multiple === true
      }
    ];
  });
}

/** Returns the user's answers to each question; null if they are unknown. */
export function answersOf({ state }: ToolPart): string[][] | null {
  if (state.status !== 'completed' || !Array.isArray(state.metadata.answers)) {
    return null;
  }
  return state.metadata.answers.map(words =>
    listOrEmpty(words).map(textOrEmpty)
  );
}

/** Returns the todo list in a call's input. */
export function todosOf({ state }: ToolPart): Todo[] {
  return listOrEmpty(state.input.todos).flatMap((value): Todo[] => {
    if (!isObject(value) || textOrEmpty(value.content).trim() === '') {
      return [];
    }
    return [
      {
        content: textOrEmpty(value.content),
        status: STATUSES.find(known => known === value.status) ?? 'pending',
        priority: PRIORITIES.find(known => known === value.priority) ?? 'medium'
      }
    ];
  });
}

/** Counts the completed items among those not cancelled. */
export function todoProgress(todos: readonly Todo[]): {
  done: number;
  all: number;
} {
  const active = todos.filter(({ status }) => status !== 'cancelled');
  const done = active.filter(({ status }) => status === 'completed').length;
  return { done, all: active.length };
}

/** Returns the item in progress, or else the next one. */
export function currentTodo(todos: readonly Todo[]): Todo | undefined {
  return (
    todos.find(({ status }) => status === 'in_progress') ??
    todos.find(({ status }) => status === 'pending')
  );
}

function readOption(value: unknown): QuestionOption[] {
  return isObject(value) && typeof value.label === 'string'
    ? [{ label: value.label, description: textOrEmpty(value.description) }]
    : [];
}
