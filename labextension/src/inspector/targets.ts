/** The places that an inspector is opened at: as a command's arguments, a link, and numbers of a view. */
import type { ItemFilter, TimelineView } from '../protocol/generated';
import {
  parseLink,
  placeFrom,
  placePieces
} from '../state/inspector/placeLink';
import type { ComparedSide, IInspectorPlace } from '../state/inspector/source';
import type { IInspectorTarget } from '../views/actions/inspector';

/** The fields of a place that are numbers of a view or words, never ids. */
type PlaceChoices = Partial<
  Omit<IInspectorPlace, 'request' | 'item' | 'beside' | 'side'>
>;

/** A session of the project, or of a recorded file, that is shown beside another one. */
export interface IBesideTarget {
  /** Path of its recorded file; absent for a session of what the inspector's own kernel answers for. */
  path?: string;
  /** Its id; absent for the first session with a request of the file. */
  session?: string;
}

/** What a tab shows, as the arguments of its command and as the layout keeps it. */
export interface IInspectorArguments extends IInspectorTarget, PlaceChoices {
  /** Path of a recorded file, which a kernel of its own reads. */
  path?: string;
  // The aliases are JSON objects to JupyterLab's types, which the interfaces are not.
  filter?: Pick<ItemFilter, keyof ItemFilter>;
  /** The session that is shown beside it. */
  beside?: Pick<IBesideTarget, keyof IBesideTarget>;
  /** Of two sessions, the one that is shown, at the place; by default the first. */
  side?: ComparedSide;
  range?: Pick<NonNullable<IInspectorPlace['range']>, 'first' | 'last'> | null;
}

/**
 * Returns the place that a link names, or null where it is none of ours.
 *
 * A `#` before `palimpsest:` lets a link through sanitizers that know only the schemes of the web.
 */
export function readLink(href: string): IInspectorArguments | null {
  const link = parseLink(href.replace(/^#/, ''));
  return link === null
    ? null
    : { session: link.session, ...argumentsOf(link.place) };
}

/** Returns a place as the arguments of a command, without values that an inspector opens with anyway. */
export function argumentsOf({
  request,
  item,
  against,
  range,
  beside,
  side,
  ...choices
}: IInspectorPlace): IInspectorArguments {
  const besideName = beside ?? '';
  return {
    ...(request === null ? {} : { request }),
    ...(item === null ? {} : { item }),
    ...choices,
    ...((against ?? null) === null ? {} : { against }),
    ...((range ?? null) === null ? {} : { range }),
    ...(besideName === '' ? {} : { beside: { ...besideNamed(besideName) } }),
    ...(besideName !== '' && side === 'second' ? { side } : {})
  };
}

const TEXT_ARGUMENTS = ['session', 'notebook', 'path'] as const;

/** Returns a command's arguments, without what is of another type; anybody may call a command. */
export function readArguments(
  args: Readonly<Record<string, unknown>>
): IInspectorArguments {
  const target: Record<string, string> = {};
  for (const name of [...TEXT_ARGUMENTS, 'request', 'item'] as const) {
    const value = args[name];
    if (typeof value === 'string' && value !== '') {
      target[name] = value;
    }
  }
  // What a link could not say is left out.
  const { beside: givenBeside, side, ...choices } = args;
  const { place } = placeFrom([...placePieces(choices)]);
  const beside = readBesideTarget(givenBeside);
  return {
    ...argumentsOf(place),
    ...target,
    ...(beside === null ? {} : { beside }),
    ...(side === 'second' ? { side } : {})
  };
}

/** Returns the session or file that a value names, as the layout keeps it; null where it names none. */
function readBesideTarget(value: unknown): IBesideTarget | null {
  if (typeof value !== 'object' || value === null) {
    return null;
  }
  const { path, session } = value as Record<string, unknown>;
  const target = {
    ...(typeof path === 'string' && path !== '' ? { path } : {}),
    ...(typeof session === 'string' && session !== '' ? { session } : {})
  };
  return Object.keys(target).length === 0 ? null : target;
}

/** Returns what a word names beside a session: a session by its id, or else a recorded file by its path. */
export function besideNamed(word: string): IBesideTarget {
  return /^ses_\w+$/.test(word) ? { session: word } : { path: word };
}

/** Returns the word by which a link names a session or file beside; undefined for none. */
export function besideWord(
  beside: IBesideTarget | undefined
): string | undefined {
  return beside?.path ?? beside?.session;
}

/** Returns whether two targets name the same session or file beside. */
export function isSameBeside(
  left: IBesideTarget | undefined,
  right: IBesideTarget | undefined
): boolean {
  // Which session of a file is meant is known only after it was read.
  return left?.path === undefined && right?.path === undefined
    ? left?.session === right?.session
    : left?.path === right?.path;
}

/** Returns whether a target's place is given by ids, which only the session's view can turn into numbers. */
export function hasIds({ request, item }: IInspectorTarget): boolean {
  return typeof request === 'string' || typeof item === 'string';
}

/** Returns the place in numbers; an id that the view does not have is left out. */
export function placeOf(
  target: IInspectorArguments,
  view: TimelineView | null = null
): IInspectorPlace {
  const item = numberOf(target.item, id => itemNumber(view, id));
  const request = numberOf(
    target.request,
    id => view?.requests.id.lastIndexOf(id) ?? -1
  );
  return {
    ...choicesOf(target),
    request: request ?? entryRequest(view, item),
    item
  };
}

/** Returns what stands in a target beside its session, its request and its item. */
function choicesOf(target: IInspectorArguments): PlaceChoices {
  const choices = Object.entries(target).filter(
    ([name]) => !OTHER_ARGUMENTS.has(name)
  );
  return Object.fromEntries(choices);
}

const OTHER_ARGUMENTS = new Set<string>([
  ...TEXT_ARGUMENTS,
  'request',
  'item',
  'beside',
  'side'
]);

function numberOf(
  value: number | string | undefined,
  indexOfId: (id: string) => number
): number | null {
  if (value === undefined || typeof value === 'number') {
    return value ?? null;
  }
  const number = indexOfId(value);
  return number < 0 ? null : number;
}

/** Returns the number of the last item of a part or message: that of a call is its result. */
function itemNumber(view: TimelineView | null, id: string): number {
  return (
    view?.items.id.findLastIndex(itemId => itemId.split('/').includes(id)) ?? -1
  );
}

function entryRequest(
  view: TimelineView | null,
  item: number | null
): number | null {
  return item === null ? null : (view?.items.entered[item] ?? null);
}

/** Returns the id by which a part's context is edited: `message/part/result` is the part. */
export function editTarget(item: string): string {
  const [message = '', part] = item.split('/');
  return part ?? message;
}
