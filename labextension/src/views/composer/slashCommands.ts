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
const MAX_SHOWN = 60;

/** The slash commands that the kernel offers. */
export interface ISlashCommands {
  builtIn: readonly AgentChoice[];
  /** The words that may follow the command that is being typed. */
  arguments: readonly string[];
}

/** A word at the caret; what stands behind a command has no sign. */
export interface IArgumentWord {
  sign: '';
  typed: string;
  start: number;
  end: number;
}

/** Returns the word behind a command's name in the line of the caret; null elsewhere. */
export function argumentAt(text: string, caret: number): IArgumentWord | null {
  const match = ARGUMENT.exec(text.slice(0, caret));
  if (match === null) {
    return null;
  }
  const typed = match[2] ?? '';
  const end = caret + text.slice(caret).search(/\s|$/);
  return { sign: '', typed, start: caret - typed.length, end };
}

/** Returns the commands that have the typed letters in their order, the project's own and the built-in ones. */
export function commandGroups(
  typed: string,
  choices: Choices | null,
  builtIn: readonly AgentChoice[],
  words: IWords
): IOptionGroup[] {
  const own = choices?.commands ?? [];
  const ownNames = new Set(own.map(({ name }) => name));
  // A command of the project goes before ours of the same name, as where it is sent.
  const ourCommands = builtIn.filter(({ name }) => !ownNames.has(name));
  return [
    matchingGroup(words.__('Commands of the project'), own, typed),
    matchingGroup(words.__('Commands'), ourCommands, typed)
  ]
    .filter(({ count }) => count > 0)
    .sort((left, right) => groupRank(left, typed) - groupRank(right, typed));
}

/** Returns the words that may stand where the caret is. */
export function argumentGroups(
  typed: string,
  all: readonly string[],
  words: IWords
): IOptionGroup[] {
  const places = rankedMatches(all, typed);
  const options = places
    .slice(0, MAX_SHOWN)
    .map(index => ({ value: all[index] ?? '', about: '' }));
  return options.length === 0
    ? []
    : [{ name: words.__('What may follow'), count: places.length, options }];
}

function matchingGroup(
  name: string,
  commands: readonly AgentChoice[],
  typed: string
): IOptionGroup {
  const places = rankedMatches(
    commands.map(command => command.name.toLowerCase()),
    typed.toLowerCase()
  );
  const options = places.flatMap(index => {
    const match = commands[index];
    return match === undefined
      ? []
      : [{ value: match.name, about: match.description }];
  });
  return { name, count: options.length, options };
}

/** Returns 0 for a group whose first option begins with the typed letters, else 1. */
function groupRank({ options }: IOptionGroup, typed: string): number {
  const [first] = options;
  return first?.value.toLowerCase().startsWith(typed.toLowerCase()) === true
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
  const [match, setFetched] = useState<{
    of: string;
    builtIn: readonly AgentChoice[];
  }>();
  const [argumentList, setArgumentList] = useState<{
    of: string;
    all: readonly string[];
  }>();
  const isCommand = text.trimStart().startsWith('/');
  useEffect(() => {
    if (!isCommand) {
      return;
    }
    return unlessGone(prompts.operations(), all => {
      if (all !== null) {
        // A kernel of an older version lists none.
        const { commands } = all as Partial<typeof all>;
        setFetched({ of: draftKey, builtIn: commands ?? [] });
      }
    });
  }, [prompts, draftKey, isCommand]);
  const word = caret === null ? null : argumentAt(text, caret);
  // All letters of a word but the first are chosen among here; a flag and a value have lists of their own.
  const argumentText =
    word === null
      ? ''
      : text.slice(0, word.start) + (/^[^=]*=|^-/.exec(word.typed)?.[0] ?? '');
  useEffect(() => {
    if (argumentText === '') {
      return;
    }
    return unlessGone(
      prompts.commandArguments(argumentText.trimStart()),
      all => {
        setArgumentList({ of: draftKey + argumentText, all });
      }
    );
  }, [prompts, draftKey, argumentText]);
  return {
    builtIn: match?.of === draftKey ? match.builtIn : [],
    arguments:
      argumentText !== '' && argumentList?.of === draftKey + argumentText
        ? argumentList.all
        : []
  };
}
