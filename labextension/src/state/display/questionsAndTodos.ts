/**
 * Reads the model's questions and todo list from a tool call whose input may be incomplete.
 */
import type {
  Question,
  QuestionOption,
  Todo,
  ToolPart
} from '../../protocol/generated';
import { isObject, list, text } from '../../protocol/jsonValues';

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
  return list(state.input.questions).flatMap((one): Question[] => {
    if (!isObject(one) || typeof one.question !== 'string') {
      return [];
    }
    return [
      {
        question: one.question,
        header: text(one.header),
        options: list(one.options).flatMap(option),
        multiple: one.multiple === true
      }
    ];
  });
}

/** Returns the user's answers to each question; null if they are unknown. */
export function answersOf({ state }: ToolPart): string[][] | null {
  if (state.status !== 'completed' || !Array.isArray(state.metadata.answers)) {
    return null;
  }
  return state.metadata.answers.map(words => list(words).map(text));
}

/** Returns the todo list in a call's input. */
export function todosOf({ state }: ToolPart): Todo[] {
  return list(state.input.todos).flatMap((one): Todo[] => {
    if (!isObject(one) || text(one.content).trim() === '') {
      return [];
    }
    return [
      {
        content: text(one.content),
        status: STATUSES.find(known => known === one.status) ?? 'pending',
        priority: PRIORITIES.find(known => known === one.priority) ?? 'medium'
      }
    ];
  });
}

/** Counts the completed items among those not cancelled. */
export function todoProgress(todos: readonly Todo[]): {
  done: number;
  all: number;
} {
  const wanted = todos.filter(({ status }) => status !== 'cancelled');
  const done = wanted.filter(({ status }) => status === 'completed').length;
  return { done, all: wanted.length };
}

/** Returns the item in progress, or else the next one. */
export function currentTodo(todos: readonly Todo[]): Todo | undefined {
  return (
    todos.find(({ status }) => status === 'in_progress') ??
    todos.find(({ status }) => status === 'pending')
  );
}

function option(one: unknown): QuestionOption[] {
  return isObject(one) && typeof one.label === 'string'
    ? [{ label: one.label, description: text(one.description) }]
    : [];
}
