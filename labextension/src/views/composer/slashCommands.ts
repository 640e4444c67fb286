/**
 * What may be typed behind a slash: the project's own commands and the kernel's table of operations, and
 * what may follow each.
 */
import { useEffect, useState } from 'react';
import type { AgentChoice, Choices } from '../../protocol/generated';
import { usePromptActions } from '../actions/prompts';
import type { IWords } from '../host';
import { rankedMatches, type IOptionGroup } from './mentions';

/** A word behind the name of a command. */
const ARGUMENT = /^\s*\/([\w-]+)[^\S\n]+(?:\S+[^\S\n]+)*(\S*)$/;

/** The maximum number of shown words behind a command. */
const SHOWN = 60;

/** What the kernel offers behind a slash. */
export interface ISlashCommands {
  builtIn: readonly AgentChoice[];
  /** The words that may follow the command that is being typed. */
  arguments: readonly string[];
}

export const NO_COMMANDS: ISlashCommands = { builtIn: [], arguments: [] };

/** A word at the caret; what stands behind a command has no sign. */
export interface IArgumentWord {
  sign: '';
  wanted: string;
  start: number;
  end: number;
}

/** Returns the word behind a command's name in the line of the caret; null elsewhere. */
export function argumentAt(text: string, caret: number): IArgumentWord | null {
  const found = ARGUMENT.exec(text.slice(0, caret));
  if (found === null) {
    return null;
  }
  const wanted = found[2] ?? '';
  const end = caret + text.slice(caret).search(/\s|$/);
  return { sign: '', wanted, start: caret - wanted.length, end };
}

/** Returns the commands that have the typed letters in their order, the project's own and the built-in ones. */
export function commandGroups(
  wanted: string,
  choices: Choices | null,
  builtIn: readonly AgentChoice[],
  words: IWords
): IOptionGroup[] {
  const own = choices?.commands ?? [];
  const taken = new Set(own.map(({ name }) => name));
  // A command of the project goes before ours of the same name, as where it is sent.
  const ours = builtIn.filter(({ name }) => !taken.has(name));
  return [
    group(words.__('Commands of the project'), own, wanted),
    group(words.__('Commands'), ours, wanted)
  ]
    .filter(({ count }) => count > 0)
    .sort((one, other) => rank(one, wanted) - rank(other, wanted));
}

/** Returns the words that may stand where the caret is. */
export function argumentGroups(
  wanted: string,
  all: readonly string[],
  words: IWords
): IOptionGroup[] {
  const places = rankedMatches(all, wanted);
  const options = places
    .slice(0, SHOWN)
    .map(place => ({ value: all[place] ?? '', about: '' }));
  return options.length === 0
    ? []
    : [{ name: words.__('What may follow'), count: places.length, options }];
}

function group(
  name: string,
  commands: readonly AgentChoice[],
  wanted: string
): IOptionGroup {
  const places = rankedMatches(
    commands.map(command => command.name.toLowerCase()),
    wanted.toLowerCase()
  );
  const options = places.flatMap(place => {
    const found = commands[place];
    return found === undefined
      ? []
      : [{ value: found.name, about: found.description }];
  });
  return { name, count: options.length, options };
}

/** Returns 0 for a group whose first option begins with the typed letters, else 1. */
function rank({ options }: IOptionGroup, wanted: string): number {
  const [first] = options;
  return first?.value.toLowerCase().startsWith(wanted.toLowerCase()) === true
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
  const [found, setFound] = useState<{
    of: string;
    builtIn: readonly AgentChoice[];
  }>();
  const [followed, setFollowed] = useState<{
    of: string;
    all: readonly string[];
  }>();
  const isCommand = text.trimStart().startsWith('/');
  useEffect(() => {
    if (!isCommand) {
      return;
    }
    let wanted = true;
    void prompts.operations().then(all => {
      if (wanted && all !== null) {
        // A kernel of an older version lists none.
        const { commands } = all as Partial<typeof all>;
        setFound({ of: draftKey, builtIn: commands ?? [] });
      }
    });
    return () => {
      wanted = false;
    };
  }, [prompts, draftKey, isCommand]);
  const word = caret === null ? null : argumentAt(text, caret);
  // All letters of a word but the first are chosen among here; a flag and a value have lists of their own.
  const asked =
    word === null
      ? ''
      : text.slice(0, word.start) + (/^[^=]*=|^-/.exec(word.wanted)?.[0] ?? '');
  useEffect(() => {
    if (asked === '') {
      return;
    }
    let wanted = true;
    void prompts.commandArguments(asked.trimStart()).then(all => {
      if (wanted) {
        setFollowed({ of: draftKey + asked, all });
      }
    });
    return () => {
      wanted = false;
    };
  }, [prompts, draftKey, asked]);
  return {
    builtIn: found?.of === draftKey ? found.builtIn : [],
    arguments:
      asked !== '' && followed?.of === draftKey + asked ? followed.all : []
  };
}
