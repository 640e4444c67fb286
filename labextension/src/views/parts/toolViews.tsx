/**
 * What stands in a call's card instead of its input and output, by the tool's name.
 */
import type { ReactNode } from 'react';
import type { ToolPart } from '../../protocol/generated';
import {
  answersOf,
  QUESTION,
  questionsOf,
  TODOWRITE,
  todosOf
} from '../../state/display/questionsAndTodos';
import { TodoItems } from '../controls/todoList';
import { QuestionAnswers } from './questionForm';

/** A tool that is not listed has input and output; so has a call of which nothing can be read. */
export const TOOL_VIEWS: Partial<
  Record<string, (part: ToolPart) => ReactNode>
> = {
  [QUESTION]: part => {
    const questions = questionsOf(part);
    return questions.length > 0 ? (
      <QuestionAnswers questions={questions} answers={answersOf(part)} />
    ) : null;
  },
  [TODOWRITE]: part => {
    const todos = todosOf(part);
    return todos.length > 0 ? <TodoItems todos={todos} /> : null;
  }
};
