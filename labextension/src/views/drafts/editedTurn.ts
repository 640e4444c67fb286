/** The prompt of a turn as a draft: its text, and what was chosen for it. */
import type { FilePart, Message, SessionInfo } from '../../protocol/generated';
import { oneLine } from '../../state/text/oneLine';
import type { IPromptOptions } from '../actions/prompts';

const MAX_EXCERPT_CHARS = 60;

/** Returns the first words of a prompt, in one line. */
export function promptExcerpt(text: string): string {
  const line = oneLine(text.trim().replace(/\s+/g, ' '));
  return line.length <= MAX_EXCERPT_CHARS
    ? line
    : `${line.slice(0, MAX_EXCERPT_CHARS - 1).trimEnd()}…`;
}

/** Returns the text that a person wrote in a prompt, without the engine's parts. */
export function promptText({ parts }: Message): string {
  return parts
    .flatMap(part =>
      part.type === 'text' && !part.synthetic && part.text.trim() !== ''
        ? [part.text]
        : []
    )
    .join('\n\n');
}

/**
 * Returns what was chosen for a prompt of the transcript, as session/prompts/repeated_prompt.py does. Agent and model
 * only where they differ from the session's: what is chosen counts as chosen by the user, in this project.
 */
export function sentPromptOptions(
  { info, parts }: Message,
  session: SessionInfo | undefined
): IPromptOptions {
  if (info.role !== 'user') {
    return {};
  }
  const { agent, max_steps, model, system, tools } = info;
  const modelId = `${model.provider}/${model.name}`;
  const sessionModel = session?.model;
  const isOtherModel =
    sessionModel === undefined ||
    `${sessionModel.provider}/${sessionModel.name}` !== modelId;
  const attachments = parts.flatMap(part =>
    part.type === 'file' && isAttached(part)
      ? [{ mime: part.mime, filename: part.filename, url: part.url }]
      : []
  );
  const options: IPromptOptions = {
    agent: agent === session?.agent ? undefined : agent,
    model: isOtherModel ? modelId : undefined,
    variant:
      model.variant === sessionModel?.variant ? undefined : model.variant,
    max_steps,
    system,
    tools,
    files: attachments.length > 0 ? attachments : undefined
  };
  return Object.fromEntries(
    Object.entries<unknown>(options).filter(([, value]) => value !== undefined)
  );
}

/** Returns whether a person attached a file; what a mention or a cell brings comes again by itself. */
function isAttached({ source, url }: FilePart): boolean {
  const uri = source !== undefined && 'uri' in source ? source.uri : '';
  const text: unknown =
    source !== undefined && 'text' in source ? source.text : undefined;
  const mentionText =
    typeof text === 'object' && text !== null && 'value' in text
      ? text.value
      : '';
  return (
    /^(?:data|blob):/.test(url) &&
    !(typeof uri === 'string' && uri.startsWith('cell:')) &&
    (mentionText ?? '') === ''
  );
}
