/**
 * What may be typed behind a slash: the project's own commands and the kernel's table of operations, and
 * what may follow each.
 */
import { useEffect, useState } from 'react';
import type { AgentChoice, Choices } from '../../protocol/generated';
import { usePromptActions } from '../actions/prompts';
import type { IWords } from '../host';
import { rankedMatches, type IOptionGroup } from './mentions';
import { unlessGone } from '../dom/effects';

/** A word behind the name of a command. */
const ARGUMENT = /^\s*\/([\w-]+)[^\S\n]+(?:\S+[^\S\n]+)*(\S*)$/;

/** The maximum number of shown words behind a command. */
const MAX_ARGUMENTS = 60;

/** The slash commands that the kernel offers. */
export interface ISlashCommands {
  builtIn: readonly AgentChoice[];
  /** The words that may follow the command that is being typed. */
  arguments: readonly string[];
}

/** The word at the caret behind a command; it has no sign. */
export interface IArgumentWord {
  sign: '';
  typedText: string;
  start: number;
  end: number;
}

/** Returns the word behind a command's name in the line of the caret; null elsewhere. */
export function argumentAt(text: string, caret: number): IArgumentWord | null {
  const match = ARGUMENT.exec(text.slice(0, caret));
  if (match === null) {
    return null;
  }
  const typedText = match[2] ?? '';
  const end = caret + text.slice(caret).search(/\s|$/);
  return { sign: '', typedText, start: caret - typedText.length, end };
}

/** Returns the commands that have the typed letters in their order, the project's own and the built-in ones. */
export function commandGroups(
  typedText: string,
  choices: Choices | null,
  builtIn: readonly AgentChoice[],
  words: IWords
): IOptionGroup[] {
  const projectCommands = choices?.commands ?? [];
  const ownNames = new Set(projectCommands.map(({ name }) => name));
  // A command of the project goes before ours of the same name, as where it is sent.
  const otherCommands = builtIn.filter(({ name }) => !ownNames.has(name));
  return [
    matchingGroup(
      words.__('Commands of the project'),
      projectCommands,
      typedText
    ),
    matchingGroup(words.__('Commands'), otherCommands, typedText)
  ]
    .filter(({ count }) => count > 0)
    .sort(
      (left, right) => groupRank(left, typedText) - groupRank(right, typedText)
    );
}

/** Returns the words that may stand where the caret is. */
export function argumentGroups(
  typedText: string,
  argumentWords: readonly string[],
  words: IWords
): IOptionGroup[] {
  const indexes = rankedMatches(argumentWords, typedText);
  const options = indexes
    .slice(0, MAX_ARGUMENTS)
    .map(index => ({ value: argumentWords[index] ?? '', about: '' }));
  return options.length === 0
    ? []
    : [{ name: words.__('What may follow'), count: indexes.length, options }];
}

function matchingGroup(
  name: string,
  commands: readonly AgentChoice[],
  typedText: string
): IOptionGroup {
  const indexes = rankedMatches(
    commands.map(command => command.name.toLowerCase()),
    typedText.toLowerCase()
  );
  const options = indexes.flatMap(index => {
    const match = commands[index];
    return match === undefined
      ? []
      : [{ value: match.name, about: match.description }];
  });
  return { name, count: options.length, options };
}

/** Returns 0 for a group whose first option begins with the typed letters, else 1. */
function groupRank({ options }: IOptionGroup, typedText: string): number {
  const [first] = options;
  return first?.value.toLowerCase().startsWith(typedText.toLowerCase()) === true
    ? 0
    : 1;
}

/** Returns what the kernel offers: its commands, requested with the first slash, and what may follow one. */
export function useSlashCommands(
  draftKey: string,
  text: string,
  caret: number | null
): ISlashCommands {
  const prompts = usePromptActions();
  const [fetchedCommands, setFetchedCommands] = useState<{
    draftKey: string;
    builtIn: readonly AgentChoice[];
  }>();
  const [argumentList, setArgumentList] = useState<{
    key: string;
    words: readonly string[];
  }>();
  const isCommand = text.trimStart().startsWith('/');
  useEffect(() => {
    if (!isCommand) {
      return;
    }
    return unlessGone(prompts.operations(), operations => {
      if (operations !== null) {
        // A kernel of an older version lists none.
        const { commands } = operations as Partial<typeof operations>;
        setFetchedCommands({ draftKey, builtIn: commands ?? [] });
      }
    });
  }, [prompts, draftKey, isCommand]);
  const word = caret === null ? null : argumentAt(text, caret);
  // All letters of a word but the first are chosen among here; a flag and a value have lists of their own.
  const argumentText =
    word === null
      ? ''
      : text.slice(0, word.start) +
        (/^[^=]*=|^-/.exec(word.typedText)?.[0] ?? '');
  useEffect(() => {
    if (argumentText === '') {
      return;
    }
    return unlessGone(
      prompts.commandArguments(argumentText.trimStart()),
      argumentWords => {
        setArgumentList({ key: draftKey + argumentText, words: argumentWords });
      }
    );
  }, [prompts, draftKey, argumentText]);
  return {
    builtIn:
      fetchedCommands?.draftKey === draftKey ? fetchedCommands.builtIn : [],
    arguments:
      argumentText !== '' && argumentList?.key === draftKey + argumentText
        ? argumentList.words
        : []
  };
}
