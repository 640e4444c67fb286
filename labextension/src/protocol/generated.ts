/** The protocol's values, written by `make protocol` from the pydantic ones. Do not edit. */

export type ErrorValue =
  | AbortedError
  | ApiError
  | AuthError
  | ContentFilterError
  | ContextOverflowError
  | OutputLengthError
  | StructuredOutputError
  | UnknownError;
export type Status = Busy | Idle | Retrying;
export type ViewQuery =
  AskCompaction | AskComparison | AskItem | AskNotes | AskRequest | AskSearch | AskTrack | AskUses | AskView;
export type MessageInfo = AssistantMessage | UserMessage;
export type Part =
  | AgentPart
  | CompactionPart
  | FilePart
  | NotebookPart
  | PatchPart
  | ReasoningPart
  | RetryPart
  | SnapshotPart
  | StepFinishPart
  | StepStartPart
  | SubtaskPart
  | TextPart
  | ToolPart;
export type ToolState = ToolCompleted | ToolFailed | ToolPending | ToolRunning;
export type Event =
  | Checkpoint
  | DecisionMade
  | MessageRemoved
  | MessageUpdated
  | PartDelta
  | PartRemoved
  | PartUpdated
  | PermissionAsked
  | PermissionReplied
  | PromptAdmitted
  | PromptDelivered
  | QuestionAsked
  | QuestionRejected
  | QuestionReplied
  | SessionCompacted
  | SessionCreated
  | SessionDeleted
  | SessionDiff
  | SessionError
  | SessionStatus
  | SessionUpdated
  | StepRequested
  | TodoUpdated;
export type Command =
  | Hello
  | Watch
  | Unwatch
  | AnnounceRun
  | Prepare
  | TellCells
  | CellsChanged
  | Resync
  | RenameNotebook
  | ListSettings
  | ListSessions
  | ListChildren
  | OpenSession
  | NewSession
  | Retitle
  | Archive
  | Delete
  | Fork
  | ListBranches
  | Prompt
  | Queue
  | Steer
  | Cancel
  | Join
  | Retry
  | Withdraw
  | Compact
  | AnswerAsk
  | AnswerQuestion
  | ShowContext
  | ApplyContextEdit
  | UsePolicy
  | Revert
  | ReviewCells
  | ExplainCell
  | SetMode
  | ListApprovals
  | SetBudget
  | TrustProject
  | SetStepMode
  | ReleaseRequest
  | AskForAnotherSummary
  | UseOlderSummary
  | ListChoices
  | ListExtensions
  | ShowStorage
  | Share
  | Unshare
  | Export
  | Import
  | StopImport
  | WriteNote
  | ShowImage
  | CloseSegment
  | RecreateOutputs
  | ListMentions
  | PreviewMentions
  | AttachFile
  | ListPrompts
  | Inspect
  | ListButtons
  | ProposeArguments;
/** One journal record as a front end is told it: an event and its place. */
export type Notice = {
  v: number;
  seq: number;
  ts: number;
} & Event;

/** The turn was stopped by the user or by the end of the kernel. */
export interface AbortedError {
  type: 'aborted';
  message: string;
}
/** An agent that can answer here, or a mode, a command or a skill. */
export interface AgentChoice {
  name: string;
  description: string;
}
/** An agent that the user named in the prompt. */
export interface AgentPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'agent';
  name: string;
  source?: {
    [k: string]: unknown;
  };
}
/** Announce that the page sends several cells together, as with Run All. */
export interface AnnounceRun {
  id: string;
  type: 'announce-run';
  cells: number;
}
/** Answer a permission question; the first answer wins. */
export interface AnswerAsk {
  id: string;
  type: 'reply';
  session?: string;
  ask_id: string;
  answer: 'once' | 'always' | 'reject';
  feedback?: string;
  /** The scope of an ``always``; None means the session. */
  scope?: 'session' | 'project';
  /** Answers about single changes of cells, for which ``answer`` is "once"; None accepts all. */
  cells?: CellDecision[];
}
/** The user's answer about one of the changes of a call that changes cells. */
export interface CellDecision {
  /** Number of the change among those of the call, from 0. */
  index: number;
  accept: boolean;
  /** The source that the user accepts, where it is only a part of the change. */
  source?: string;
  /** Why the change is rejected, for the model. */
  reason: string;
}
/** Answer the model's questions; the first answer wins. */
export interface AnswerQuestion {
  id: string;
  type: 'answer';
  session?: string;
  question_id: string;
  /** The chosen labels, or free text, for each question; None declines. */
  answers?: string[][];
}
/** The provider answered with an error, or the connection failed. */
export interface ApiError {
  type: 'api';
  message: string;
  status?: number;
  retryable: boolean;
  headers?: {
    [k: string]: string;
  };
  response_body?: string;
  metadata?: {
    [k: string]: unknown;
  };
}
/** Edit what the model sees of a part or message, from the next request on. */
export interface ApplyContextEdit {
  id: string;
  type: 'context-edit';
  session?: string;
  /** The id of a held request whose session is changed instead, such as a subagent's. */
  hold?: string;
  action: 'pin' | 'unpin' | 'exclude' | 'restore' | 'undo';
  /** The id of a part or message; empty for ``undo``, which undoes the newest compaction. */
  target: string;
}
/** A standing approval. */
export interface ApprovalRow {
  /** The number by which it is revoked. */
  number: number;
  permission: string;
  pattern: string;
  scope: 'session' | 'project';
  /** Where and when it was allowed, as text. */
  where: string;
}
/** Archive a session, or unarchive it. */
export interface Archive {
  id: string;
  type: 'archive';
  session?: string;
  archived: boolean;
}
/** A question for the user: may this tool call run? */
export interface Ask {
  /** ``per_...`` */
  id: string;
  permission: string;
  /** The paths, commands or addresses of the call; each must be allowed. */
  patterns: string[];
  /** The patterns that an "always" would allow. */
  always: string[];
  title: string;
  /** The exact input of the tool call. */
  input: {
    [k: string]: unknown;
  };
  diff?: string;
  /** How the call's target changed since it was always allowed: a sentence, and a unified diff. */
  changed?: string;
  /** Sentences about deceptive text in the input, such as invisible characters, each with its place. */
  warnings?: string[];
  message_id?: string;
  call_id?: string;
  tool?: string;
}
/** Ask for a compaction: the covered items, the summary and the lost names. */
export interface AskCompaction {
  subagent?: string;
  ask: 'compaction';
  /** The index of the compaction among the session's ``compact`` events. */
  number: number;
  /** The price of the view, for the cost of fetching lost names again. */
  price?: string;
}
/** Ask how the session compares with another one: where they part, both tracks, and their figures. */
export interface AskComparison {
  subagent?: string;
  ask: 'comparison';
  /**
   * Path of the other session's recording, relative to the kernel's start directory; None for a session of the project.
   */
  path?: string;
  /** Id of the other session; empty for the first session with a request in the recording. */
  session: string;
  price?: string;
  /** ``stamp`` of the comparison that the front end has: where nothing is newer, the answer contains none. */
  known: string;
}
/** Set aside the new summary that a held request would use first, and request another summary. */
export interface AskForAnotherSummary {
  id: string;
  session?: string;
  hold: string;
  type: 'another-summary';
}
/** Ask for an item's text, and for the text that a request shows instead. */
export interface AskItem {
  subagent?: string;
  ask: 'item';
  item: number;
  /** Of an item of tools the definition, from 0, whose text is asked for; None for the text of all. */
  definition?: number;
  request: number;
  policy: string;
  numbers: {
    [k: string]: number;
  };
  offset: number;
}
/** Ask for the notes of people on the session, as they are on the disk now. */
export interface AskNotes {
  subagent?: string;
  ask: 'notes';
}
/** Ask for the contents of a request, as recorded or under a policy. */
export interface AskRequest {
  subagent?: string;
  ask: 'request';
  request: number;
  policy: string;
  numbers: {
    [k: string]: number;
  };
  /** Only blocks that contain this text, ignoring case; empty for all. */
  find: string;
  /** Index of the first block that is sent, among those that match. */
  first: number;
}
/** Ask which items hold a text, whichever request shows them. */
export interface AskSearch {
  subagent?: string;
  ask: 'search';
  /** Found whatever the case of its letters. */
  text: string;
}
/** Ask for the track of a policy. */
export interface AskTrack {
  subagent?: string;
  ask: 'track';
  /** A policy's name as ``policies.get`` reads it, followed by its numbers, with ``|`` between stages. */
  policy: string;
  /** Numbers of a single preset, as its sliders name them. */
  numbers: {
    [k: string]: number;
  };
  price?: string;
  /** Tokens of the window that is assumed; 0 for the recorded window. */
  window: number;
}
/** Ask which names of an item the answers from a request on used. */
export interface AskUses {
  subagent?: string;
  ask: 'uses';
  item: number;
  request: number;
}
/** Ask for the whole view. */
export interface AskView {
  subagent?: string;
  ask: 'view';
  /**
   * A model's id, ``units``, ``MODEL=in/out/read/write``, ``lifetime=1h``, several with blanks between; None for the
   * recorded model's.
   */
  price?: string;
  /** ``seq`` of the view that the front end has: where nothing is newer, the answer contains no view. */
  after?: number;
  /** ``epoch`` of that view: the answer may be a patch of it. */
  epoch?: string;
  /**
   * ``picture`` is the view without what takes longer to compute, ``rest`` a patch of that picture to the whole view.
   */
  part?: 'picture' | 'rest';
}
/** The info of one answer of the model: one step. */
export interface AssistantMessage {
  role: 'assistant';
  id: string;
  session_id: string;
  parent_id: string;
  time: MessageTime;
  agent: string;
  model: ModelRef;
  path: MessagePath;
  error?: ErrorValue;
  /** Whether it is the summary that a compaction wrote. */
  summary: boolean;
  cost?: number;
  tokens: Usage;
  /** ``stop``, ``tool-calls``, ``length``, ``content-filter``, ``error``, ``unknown``, or None while it runs. */
  finish?: string;
  /** The answer in the form that the prompt's ``format`` requires: an object; any JSON value in imported logs. */
  structured?:
    | {
        [k: string]: unknown;
      }
    | unknown[]
    | string
    | number
    | boolean;
  /** Why the turn ended, one of ``StoppedBy``; None in all but its last answer, and in older logs. */
  stopped_by?: string;
}
/** When a message was created and finished, in milliseconds since 1970. */
export interface MessageTime {
  created: number;
  completed?: number;
}
/** A model's name, as ``provider/name``, with the requested reasoning effort. */
export interface ModelRef {
  provider: string;
  name: string;
  variant?: string;
}
/** Where the session worked. */
export interface MessagePath {
  cwd: string;
  root: string;
}
/** The provider requires a key that is missing or wrong. */
export interface AuthError {
  type: 'auth';
  provider: string;
  message: string;
}
/** The provider withheld the answer. */
export interface ContentFilterError {
  type: 'content-filter';
  message: string;
}
/** The request does not fit the model's context window. */
export interface ContextOverflowError {
  type: 'context-overflow';
  message: string;
  /** Tokens of the request: estimated where it was not sent, else as the provider reported them. */
  tokens?: number;
  budget?: number;
  /** Whether the provider's message is about a failed compaction, so that another compaction would not help. */
  compaction_failed: boolean;
  /** Whether the provider's message is not surely about an overflow; it is treated as one only once in a turn. */
  suspected?: boolean;
  response_body?: string;
}
/** The answer reached its length limit before it contained anything usable. */
export interface OutputLengthError {
  type: 'output-length';
  message: string;
}
/** The turn ended without the structured answer that its prompt asked for. */
export interface StructuredOutputError {
  type: 'structured-output';
  message: string;
  /** Number of times that the model was asked again for the structured answer. */
  retries: number;
}
/** Any other error; only its message is known. */
export interface UnknownError {
  type: 'unknown';
  message: string;
  /** Whether the message itself contains advice for the user. */
  explained?: boolean;
}
/** Tokens that a provider reported for one request, without double counting. */
export interface Usage {
  /** Prompt tokens that were neither read from nor written to the provider's cache. */
  input: number;
  /** Answer tokens without reasoning. */
  output: number;
  reasoning: number;
  cache_read: number;
  cache_write: number;
  /** Tokens of ``cache_write`` that the cache keeps for an hour; None where that was not reported. */
  cache_write_hour?: number;
  /** The provider's service tier, where it has its own price: ``batch``, ``flex`` or ``priority``. */
  service_tier?: string;
  total?: number;
  /** Whether these numbers are our own estimate, since the provider reported none. */
  estimated: boolean;
}
/** Store a file that was pasted or dropped into the composer, and return what it would add; sends nothing. */
export interface AttachFile {
  id: string;
  type: 'attach';
  session?: string;
  /** The model that would answer; None means that it is not known. */
  model?: string;
  file: Attachment;
}
/** A file or image that a tool returned. */
export interface Attachment {
  mime: string;
  filename?: string;
  /** ``data:`` or ``blob:<sha256>``. */
  url: string;
  source?:
    | FileSource
    | SymbolSource
    | ResourceSource
    | {
        [k: string]: unknown;
      };
}
/** A file of the project, or one that the user's own code passed in. */
export interface FileSource {
  type: 'file';
  /** The path as written in the prompt or the code. */
  path: string;
  text: SourceText;
}
/** The text in a prompt that names a source, and its position. */
export interface SourceText {
  value: string;
  start: number;
  /** Characters from the prompt's beginning, as Python counts them; the end is exclusive. */
  end: number;
}
/** A symbol in a file, as a language server reports it; only read from logs, none runs here. */
export interface SymbolSource {
  type: 'symbol';
  path: string;
  range: {
    [k: string]: unknown;
  };
  name: string;
  /** ``SymbolKind`` of the Language Server Protocol. */
  kind: number;
  text: SourceText;
}
/** A source with an address but no path: an MCP server's resource, or an object of the kernel. */
export interface ResourceSource {
  type: 'resource';
  /** Name of the MCP server, or ``kernel``. */
  client_name: string;
  /** For the kernel's objects ``variable:<name>``, or ``object:<type>`` where no variable holds it. */
  uri: string;
  text: SourceText;
}
/** Content kept in a file of its own, named by its hash. */
export interface BlobRef {
  sha256: string;
  bytes: number;
  chars?: number;
  mime: string;
}
/** One branch after the point where the branches part. */
export interface Branch {
  session: string;
  title: string;
  models: string[];
  /** The policy that was chosen for the session; empty for the configured policy. */
  policy: string;
  requests: number;
  usage: Usage;
  /** US dollars; None where a request has no known price. */
  cost?: number;
  /** An estimate in units of an uncached input token, where ``cost`` is None; None where no tokens are reported. */
  units?: number;
  /** Number of decisions about the context since the branches part. */
  decisions: number;
  /** The beginning of the newest answer on one line; empty where there is none. */
  answer: string;
  /** A longer beginning of the newest answer, with its line breaks. */
  text: string;
  /** Tokens of each request, in order: reported, or estimated where the provider reported none. */
  sizes: number[];
  /** Maximum tokens that the newest request's model accepts; 0 where it has no limit. */
  window: number;
  /** Number of estimates among ``sizes``. */
  estimates: number;
  /** Id of the branch from which this one was forked; empty for the first branch. */
  parent: string;
  parent_title: string;
  /** Number of requests that it shares with the parent branch. */
  forked_after: number;
}
/** One figure of all branches, as text. */
export interface BranchFigure {
  name: string;
  /** The value of each branch; empty where it has none. */
  values: string[];
  /** Whether the branches differ in this figure, for figures that are worth comparing. */
  branches_differ: boolean;
}
/** Branches side by side. */
export interface BranchTable {
  /** Number of requests that all branches share. */
  parted_at: number;
  /** The branches, each after its parent. */
  branches: Branch[];
  /** Number of older branches, which are not shown. */
  left_out: number;
  figures: BranchFigure[];
}
/** A request that read less from the cache than the request before had left there: a fact. */
export interface BreakView {
  request: number;
  turn: number;
  cause: string;
  /** All causes, with their numbers. */
  words: string;
  expected: number;
  read: number;
  loss: number;
  cost: number;
  /** How it could have been avoided, with a number; empty where no way is known. */
  avoided_by: string;
}
/** The spending limit of a session, and how far the user extended it. */
export interface Budget {
  usd?: number;
  tokens?: number;
  /** The limit in effect; more than ``usd`` when the user extended it. */
  usd_until?: number;
  tokens_until?: number;
  /** Models of unknown price that the user allowed nevertheless. */
  unpriced: string[];
  /** Whether the limit was set for this session; else it is the configured one. */
  own: boolean;
}
/** A turn runs. */
export interface Busy {
  type: 'busy';
  /**
   * The time since which the turn waits for the import of the model's libraries, in milliseconds since 1970; else None.
   */
  loading?: number;
}
/** The part of a proposed request that the provider's prompt cache would hold. */
export interface CacheForecast {
  tokens: number;
  cools_at?: number;
  cold_at?: number;
}
/** Stop the running turn and withdraw the waiting prompts. */
export interface Cancel {
  id: string;
  type: 'cancel';
  session?: string;
}
/** One change of a cell. */
export interface CellChange {
  action: 'insert' | 'edit' | 'move' | 'delete';
  /** The cell's id; of an inserted cell, the id that it gets. */
  cell: string;
  kind: 'code' | 'markdown' | 'raw';
  /** Where an inserted or moved cell stands: behind the cell with this id; None for the top of the notebook. */
  after?: string;
  /** The source that the cell must still have; None for an inserted cell. */
  old?: string;
  /** The source that the cell gets; None for a moved or deleted cell. */
  new?: string;
  /** The execution count beside the cell before the change. */
  number?: number;
  /** A deleted cell in the format of a notebook file, where an insertion brings it back. */
  restored?: {
    [k: string]: unknown;
  };
}
/** The agent's changes of one cell, oldest first. */
export interface CellHistory {
  /** The cell's id, or the name that was asked for where no such cell is known. */
  cell: string;
  /** The execution count of the cell's newest run; None where it is unknown. */
  number?: number;
  changes: WrittenCell[];
  /** Whether the changes are of another session of the project than the one that was asked about. */
  is_elsewhere: boolean;
}
/** A change of a cell by the agent, with the turn that it belongs to. */
export interface WrittenCell {
  session: string;
  /** The session's title. */
  title: string;
  /** Id of the answer's message. */
  message: string;
  call: string;
  /** Number of the session's request that contained the call, from 1; None where it is unknown. */
  request?: number;
  /** The beginning of the turn's prompt. */
  prompt: string;
  /** Who answered the permission question: ``person``, ``--yes`` or a rule; empty where none was asked. */
  approved_by: string;
  change: MadeChange;
}
/** A change that is proposed or was made, with what a person said of it. */
export interface MadeChange {
  action: 'insert' | 'edit' | 'move' | 'delete';
  cell: string;
  kind: 'code' | 'markdown' | 'raw';
  after?: string;
  old?: string;
  new?: string;
  number?: number;
  restored?: {
    [k: string]: unknown;
  };
  /** The id of the cell behind which a moved or deleted cell stood before; None for the top. */
  was_after?: string;
  /** The deleted cell in the format of a notebook file. */
  removed?: {
    [k: string]: unknown;
  };
  /**
   * ``proposed`` while the permission question is open; ``open``: made, and not looked at by a person, who may still
   * accept it or reject it, upon which it is taken back in the notebook.
   */
  state: 'proposed' | 'open' | 'accepted' | 'rejected';
  /** Who accepted or rejected it: ``person``, ``--yes``, or a rule; empty until then. */
  by: string;
  /** Why it was rejected, in the person's words. */
  reason: string;
  /** The notebook's path, as the page or the kernel names it. */
  notebook: string;
  /** Whether it was made, and is taken back in the notebook. */
  undone: boolean;
}
/** The place in a session from which a cell's source came. */
export interface CellOrigin {
  session: string;
  /** Id of the answer's message. */
  message: string;
  /** Id of the tool call. */
  call: string;
  /** Number of the session's request that contained the call, from 1. */
  request?: number;
}
/** The result of one change, as a page reports it: made, or why not. */
export interface CellResult {
  cell: string;
  /** None where the change was made, or could have been made had no other one failed. */
  problem?: 'changed' | 'missing' | 'hidden' | 'locked' | 'agent';
  /** The cell's present source, where it has another than expected. */
  source?: string;
  /** The id of the cell behind which a moved or deleted cell stood; None for the top. */
  was_after?: string;
  /** A deleted cell in the format of a notebook file, with its outputs as far as they fit. */
  removed?: {
    [k: string]: unknown;
  };
  /** True where another page than the one that was asked first made the change; that one shows the old notebook. */
  elsewhere?: boolean;
}
/** Changes that a review is about, oldest first. */
export interface CellReview {
  changes: ReviewedChange[];
}
/** One change of a session's calls, with what became of its review. */
export interface ReviewedChange {
  /** Id of the tool call. */
  call: string;
  /** Number of the change among those of the call, from 0. */
  index: number;
  change: MadeChange;
  /** Why it could not be taken back, in a sentence; empty where there was none. */
  problem: string;
  /** What the user should know of how it was taken back, in a sentence. */
  note?: string;
}
/** Answer a ``change-cells`` or ``run-cell`` notice; with a problem in any result, nothing was done. */
export interface CellsChanged {
  id: string;
  type: 'cells-changed';
  client: string;
  request: string;
  /** One for each change, in their order. */
  results: CellResult[];
  /** Why nothing was done at all. */
  refusal?: 'closed' | 'read-only' | 'no-kernel';
}
/** Request the cells of the kernel's notebooks from every page that shows them. */
export interface CellsRequestNotice {
  kind: 'cells';
  /** Id of the request, which the answer repeats. */
  request: string;
  /** Only the cell with this id. */
  cell?: string;
  /** Characters of each output's text to send; 0 means no outputs. */
  output_chars: number;
  /** Send images, too. */
  images: boolean;
}
/** Change cells of a notebook, all or none, as one step of its undo. */
export interface ChangeCellsNotice {
  kind: 'change-cells';
  /** Id of the request, which the answer repeats. */
  request: string;
  /** The page that does it, by the ``client`` of its watch; other pages ignore the notice. */
  client: string;
  /** The path of the notebook, as that page named it. */
  notebook: string;
  changes: CellChange[];
  origin?: CellOrigin;
}
/**
 * The folded state without messages, and where the live window begins.
 *
 * Written at each compaction and clean close; opening a session reads the last checkpoint and the records after it.
 */
export interface Checkpoint {
  type: 'session.checkpoint';
  /** ``State.summary()``: session, status, todos, open asks, inbox, decisions, newest request. */
  state: {
    [k: string]: unknown;
  };
  /** The first sequence number whose records the live window needs. */
  window_seq: number;
  window_segment: string;
  window_offset: number;
}
/** The models, agents, modes and commands that the user can choose for a prompt. */
export interface Choices {
  models: ModelChoice[];
  agents: AgentChoice[];
  /** The default model. */
  model: string;
  agent: string;
  /** The user's own commands; ``/name arguments`` is the prompt. */
  commands: AgentChoice[];
  /** Texts that the model loads for one kind of task. */
  skills: AgentChoice[];
  /** Agents that can be given a task; ``@name task`` is the prompt. */
  subagents: AgentChoice[];
  modes: AgentChoice[];
  /** The mode of sessions for which none was chosen. */
  mode: string;
  /** Settings in this project's files that have no effect until the user trusts them. */
  untrusted: string[];
}
/** A model that can answer here. */
export interface ModelChoice {
  id: string;
  /** Size of the context window in tokens, formatted for a person. */
  window: string;
  /** Why the model is in the list. */
  because: string;
}
/** Permissions and settings that a log claims and that were not granted here: kept, but never applied. */
export interface Claims {
  permission: Rule[];
  mode?: string;
  budget?: Budget;
  model?: ModelRef;
  agent?: string;
}
/** Allow, ask or deny a permission for the pattern's matches; the last match wins. */
export interface Rule {
  permission: string;
  pattern: string;
  action: 'allow' | 'ask' | 'deny';
  /**
   * A *limit* only tightens what all other rules say; so does a *lock*, whose question no earlier
   * "always" answers.
   */
  force?: 'limit' | 'lock';
}
/** Build the final output of a part of a turn whose cell missed it because the page was reloaded. */
export interface CloseSegment {
  id: string;
  session: string;
  turn: string;
  start: SegmentCut;
  end?: SegmentCut;
  first_step: number;
  first_seq: number;
  type: 'close';
}
/** A place in a turn: before the character ``offset`` of the part number ``part``. */
export interface SegmentCut {
  part: number;
  offset: number;
  /** The text to insert where the cut fell into a code fence. */
  joint: string;
}
/** The states of items that are already decided for the next request, such as after the user restored one. */
export interface ComingColumns {
  item: number[];
  state: ('whole' | 'truncated' | 'cleared' | 'masked' | 'summarised' | 'offloaded' | 'out' | 'reverted')[];
}
/** The immediate reply to a command. */
export interface CommandReply {
  status: 'ok' | 'error' | 'loading';
  id?: string;
  /** One sentence. */
  error?: string;
  protocol: number;
  /** Version of the kernel's package. */
  version: string;
  /** The id was received before; the command was not run again. */
  repeated: boolean;
  project?: string;
  notebook?: string;
  session?: SessionHead;
  watch_seconds?: number;
}
/** The summary of a session that a page shows before it has the session's messages. */
export interface SessionHead {
  /** The session's id. */
  session: string;
  title: string;
  /** The path of its notebook. */
  notebook?: string;
  read_only: boolean;
  seq: number;
  status: Status;
  asks: Ask[];
  /** Questions of the model that wait for the user's answer. */
  questions: QuestionAsked[];
  /** Step mode is on: each request is held until the user releases it. */
  stepping: boolean;
  /** Held requests, as they would be sent now. */
  held: ProposedRequest[];
  /** Prompts in the inbox. */
  waiting: number;
  /** Messages that a summary replaced were not loaded: a missing one may still be in the log. */
  partial: boolean;
  /** One sentence while nothing can be written, because the disk does not respond or the folder is missing. */
  problem?: string;
  /** A remark on the session's opening, such as that its notebook was moved, until the next prompt. */
  notice?: string;
  /** The amount of detail shown of a turn, by the kernel's settings. */
  density: 'quiet' | 'all steps';
  /**
   * Of two heads, the one with the higher order is newer, also from a restarted kernel; they can arrive the
   * other way round, since replies and notices have separate channels. 0 from an older kernel.
   */
  order: number;
}
/** Nothing runs. */
export interface Idle {
  type: 'idle';
}
/** A model request failed; the next attempt begins at ``next``. */
export interface Retrying {
  type: 'retry';
  attempt: number;
  message: string;
  /** Milliseconds since 1970. */
  next: number;
}
/** The model asks the user a question. */
export interface QuestionAsked {
  type: 'question.asked';
  question_id: string;
  questions: Question[];
  message_id?: string;
  call_id?: string;
}
/** A question from the model to the user, which can always be answered with free text. */
export interface Question {
  question: string;
  /** A short heading. */
  header: string;
  options: QuestionOption[];
  /** Whether several options may be chosen. */
  multiple: boolean;
}
/** An answer to choose. */
export interface QuestionOption {
  label: string;
  description: string;
}
/** A request as it would be sent now, why it looks so, and what it would cost. */
export interface ProposedRequest {
  id: string;
  session_id: string;
  version: number;
  number: number;
  purpose: 'step' | 'title' | 'turn-summary' | 'compaction' | 'subagent';
  agent: string;
  subagent: boolean;
  model: string;
  policy: string;
  now: number;
  sha256: string;
  tokens: number;
  tokens_before?: number;
  window: number;
  budget: number;
  fits: boolean;
  summary_first: boolean;
  new_summary?: Decision;
  older_summary?: Decision;
  last: boolean;
  hooked: boolean;
  beside: boolean;
  kinds: {
    [k: string]: number;
  };
  items: RequestItem[];
  items_left_out: number;
  new_tokens: number;
  decisions: Decision[];
  cache: CacheForecast;
  cost?: number;
  cost_cold?: number;
  limit_usd?: number;
  limit_tokens?: number;
  policy_problem: string;
  again: boolean;
  prunes_after: boolean;
  numbers: ProposedNumber[];
}
/** One reduction or repair, reversible, made once and applied in every later request. */
export interface Decision {
  id: string;
  action: 'keep' | 'truncate' | 'clear' | 'summarise' | 'drop' | 'repair' | 'wrap' | 'pin' | 'restore';
  /** The name of the rule that made the decision, such as ``truncate``; with ``policy/`` before a user's policy. */
  rule: string;
  message_id?: string;
  part_id?: string;
  until_part_id?: string;
  /** The rule's inputs and results, enough to apply it again: limits, kept lines, kept bytes. */
  numbers: {
    [k: string]: unknown;
  };
  tokens_before: number;
  tokens_after: number;
  /** Explanation for the user, generated from rule and numbers when a page shows the decision; never in a log. */
  words?: string;
}
/** A section of the system prompt, a tool, or one block of a message, in the order in which it is sent. */
export interface RequestItem {
  kind: string;
  name: string;
  words: string;
  tokens: number;
  state:
    | ('whole' | 'truncated' | 'cleared' | 'masked' | 'summarised' | 'offloaded' | 'out' | 'reverted')
    | ('pictures smaller' | 'pictures left out' | 'told as text');
  pinned: boolean;
  message_id?: string;
  part_id?: string;
  new: boolean;
  remark: string;
  item?: number;
  role: string;
  text: string;
  chars: number;
  is_error: boolean;
}
/** A number of the context policy that the user may change while the request is held. */
export interface ProposedNumber {
  name: string;
  value: number;
  meaning: string;
}
/** Replace older messages by a summary; joins a compaction that already runs. */
export interface Compact {
  id: string;
  session?: string;
  type: 'compact';
  /** What the summary should keep above all. */
  focus?: string;
  /** The model that writes this one summary. */
  model?: string;
  /** The agent continues on its own after the summary. */
  auto: boolean;
}
/** What a compaction keeps word for word, how its summary is made and checked, and how often it is tried. */
export interface CompactPolicy {
  tail_turns?: number;
  tail_tokens?: number;
  tail_minimum: number;
  tail_maximum: number;
  merge_summary: boolean;
  serialize: boolean;
  result_chars: number;
  judge: boolean;
  min_summary_chars: number;
  audit: boolean;
  max_share_after: number;
  max_attempts: number;
  max_failed: number;
  stages: number;
  always_continue: boolean;
  replay: boolean;
  model?: string;
  prompt?: string;
  continue_text: string;
  refused_text: string;
  cut: 'good' | 'finished' | 'unfinished-tail';
}
/** The marker of a compaction. */
export interface CompactionPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'compaction';
  auto: boolean;
  overflow: boolean;
  /** Id of the first message that stays word for word, None where none does; set before the summary is requested. */
  tail_start_id?: string;
  /** The subject that the user wants the summary to keep above all. */
  focus?: string;
  model?: ModelRef;
  /** Whether the user wants the work to continue after the summary, as after an automatic compaction. */
  goes_on: boolean;
}
/** A compaction: the covered items, the summary, and the lost names. */
export interface CompactionText {
  number: number;
  /** The first request that shows the summary; the number of requests where none came after it. */
  request: number;
  /** The first request that shows the covered items again. */
  undone?: number;
  /** The items that the summary covers. */
  items: number[];
  /** Estimated tokens of each of ``items`` in the request before. */
  item_tokens: number[];
  /** At most ``MAX_TEXT_CHARS`` characters; data, not markup. */
  summary: string;
  /** Characters of the whole summary. */
  summary_chars: number;
  tokens_before: number;
  tokens_after: number;
  /** Every kind that has names; the numbers count all names. */
  kinds: LostKind[];
  /** Names that were needed later come first; beyond a limit the others are only counted. */
  lost: LostWord[];
  /** Estimated cost of fetching the needed names again, in the money of the view's price. */
  refetching: number;
  /** Number of requests for fetching them again. */
  fetches: number;
  sentences: string[];
}
/** How many names of a kind a compaction replaced, lost, and lost although they were needed later. */
export interface LostKind {
  /** ``paths``, ``URLs``, ``errors``, ``identifiers`` or ``numbers``. */
  kind: string;
  found: number;
  lost: number;
  needed: number;
}
/** A name that a compaction lost. */
export interface LostWord {
  name: string;
  /** One of ``LOST_KINDS``. */
  kind: string;
  /** The requests, from 0, whose answers used the name after it was lost and before it was shown again. */
  needed: number[];
}
/** One figure, as text, with its value in each session. */
export interface ComparedFigure {
  key: string;
  name: string;
  first: string;
  second: string;
  /** The second as a multiple of the first; a dash where that says nothing. */
  ratio: string;
}
/** A file that calls of one or both sessions named. */
export interface ComparedFile {
  path: string;
  /** What the first session did with the file; empty where none of its calls names the file. */
  first: 'changed' | 'read' | '';
  second: 'changed' | 'read' | '';
}
/** One of two sessions. */
export interface ComparedSession {
  session: string;
  title: string;
  origin: string;
  model: string;
  /**
   * Tokens of each request: as reported, or by the ruler where the session reported none; None where only this is not
   * known.
   */
  tokens: (number | null)[];
  /** Whether the tokens are by the ruler. */
  is_estimate: boolean;
  /** The cost of each request, in ``SessionComparison.unit``; None where it is not known. */
  costs: (number | null)[];
  /** Whether a cost was not recorded. */
  cost_is_estimate: boolean;
  /** Seconds from the first request to each; empty where the recording's times are not usable. */
  seconds: (number | null)[];
  parting?: ComparedStep;
}
/** What one session did in the first step in which it differs from the other. */
export interface ComparedStep {
  /** Index of the request, from 0; None for a step copied from another session. */
  request?: number;
  /** The action as a phrase on one line. */
  words: string;
}
/** The fill of the context window in the newest request. */
export interface ContextFill {
  /** Estimated, like the numbers in ``kinds``. */
  tokens: number;
  /** Tokens by kind of content. */
  kinds: {
    [k: string]: number;
  };
  /** 0 where the model has no limit. */
  window: number;
  reserve: number;
  /** The message that answers the request, which has the numbers reported by the provider. */
  message_id?: string;
}
/** One message of a request, by reference. */
export interface ContextItem {
  role: string;
  message_id?: string;
  part_ids: string[];
  /** Hash of the provider message, without cache marks. */
  sha256: string;
  tokens: number;
}
/** How a session's messages become provider messages. */
export interface ConvertPolicy {
  user_empty_texts: boolean;
  empty_texts: 'dropped' | 'kept' | 'spaced';
  other_thinking: 'text' | 'reasoning';
  partial_output: 'some' | 'any' | 'none';
  result_media: 'writer' | 'inside' | 'by-model';
  media_notice: string;
}
/** The session became the notebook's current one, or its summary changed without a record. */
export interface CurrentNotice {
  kind: 'current';
  session: SessionHead;
}
/** A decider made a decision. */
export interface DecisionMade {
  type: 'decision';
  decision: Decision;
  facts?: Facts;
}
/** The inputs of the rules that decide, recorded so that the same decisions can be made again. */
export interface Facts {
  /** Milliseconds since 1970. */
  now: number;
  estimator: string;
  /** Ratio of real to estimated tokens, from the usage the provider reported. */
  calibration: number;
  /** 0 where the model has no limit. */
  window: number;
  reserve: number;
  /** Seconds since the provider's prompt cache was last used; None where that is unknown, or there is no cache. */
  cache_age_seconds?: number;
  /** Estimated tokens of the request before any further reduction, not calibrated. */
  used_tokens?: number;
  versions: {
    [k: string]: string;
  };
}
/** The tool definitions, item by item: an item of tools holds those that its request offered. */
export interface DefinitionColumns {
  /** The item that holds the definition. */
  item: number[];
  name: string[];
  /** The definition's share of the item's tokens, by length; the shares of all definitions add up to them. */
  tokens: number[];
  /** Whether the definition is new or changed since the previous tools. */
  change: ('' | 'new' | 'changed')[];
}
/** Delete a session and the sessions that its tasks began, for good. */
export interface Delete {
  id: string;
  type: 'delete';
  session: string;
  /** Return the sessions that would be deleted, and delete none. */
  preview: boolean;
}
/** The answer of an operation that only returns whether it came in time. */
export interface Done {
  /** Whether the operation came too late, for example after another answer, or had nothing to do. */
  late: boolean;
}
/** A text in each format. */
export interface DrawnText {
  /** By MIME type. */
  bundle: {
    [k: string]: unknown;
  };
}
/** An event of the whole context, such as a compaction. */
export interface EventView {
  request: number;
  kind: 'prune' | 'compact' | 'compact failed' | 'undo' | 'fork' | 'model' | 'effort' | 'idle';
  cause: string;
}
/**
 * Tell where a cell's code came from: the turns that wrote or changed it, of this session or another of the project.
 */
export interface ExplainCell {
  id: string;
  type: 'why';
  session?: string;
  /** The cell's number or id; None means the cell that asks. */
  cell?: string;
}
/** Write the session to a new file inside the project. */
export interface Export {
  id: string;
  session?: string;
  type: 'export';
  form?: 'md' | 'ipynb' | 'json' | 'html' | 'opencode' | 'atif';
  path?: string;
  /** In a notebook: the prompts as text, or as ``%%agent`` cells. */
  prompts: 'markdown' | 'cells';
}
/** A file to which a session was written. */
export interface ExportedFile {
  path: string;
  /** The path relative to the project, if it is inside. */
  shown: string;
  bytes: number;
  /** The HTML of a shared page, if it is small enough to be sent. */
  content?: string;
}
/** The hooks and MCP servers of this kernel. */
export interface Extensions {
  hooks: HookStatus[];
  servers: McpServerStatus[];
  /** Sentences on hooks that cannot be loaded. */
  remarks: string[];
}
/** A hook as ``%agent hooks`` lists it. */
export interface HookStatus {
  name: string;
  label: string;
  origin: string;
  calls: number;
  failures: number;
  problem: string;
}
/** The state of a server, for the user. */
export interface McpServerStatus {
  name: string;
  state: 'off' | 'waiting' | 'connecting' | 'connected' | 'failed';
  kind: 'stdio' | 'http';
  origin: string;
  /** The names under which its tools are offered. */
  tools: string[];
  problem: string;
  instructions: string;
  /** Sentences about its tools that cannot be offered. */
  left_out: string[];
  /** Tools with descriptions that are shortened for the model, with their lengths in characters. */
  shortened: [unknown, unknown][];
}
/** The change to one file. */
export interface FileDiff {
  file: string;
  status: 'added' | 'modified' | 'deleted';
  additions: number;
  deletions: number;
  patch?: string;
  note?: string;
  before?: string;
  after?: string;
}
/** A file or image that belongs to a message. */
export interface FilePart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'file';
  mime: string;
  filename?: string;
  /** ``data:``, ``file:``, ``http(s):`` or ``blob:<sha256>``. */
  url: string;
  source?:
    | FileSource
    | SymbolSource
    | ResourceSource
    | {
        [k: string]: unknown;
      };
}
/** Begin a session in this notebook as a copy of another one, complete or up to a message or a request. */
export interface Fork {
  id: string;
  type: 'fork';
  session?: string;
  /** The id of the message before which the copy ends. */
  message?: string;
  /** The request's number in the session, from 1, or its id. */
  request?: number | string;
  /** The model of the fork. */
  model?: string;
}
/** Where a fork begins: everything of the parent up to and including ``seq``. */
export interface ForkedFrom {
  session_id: string;
  seq: number;
  segment: string;
  /** Byte offset in the parent's segment just after the last shared record. */
  offset: number;
  message_id?: string;
}
/** A note's place in a timeline; numbers count from 0. */
export interface FoundPlace {
  /** The place in a few words; numbers in it count from 1. */
  text: string;
  /** The request at which the note is marked; None for the whole session, and where the place is not there. */
  request?: number;
  /** The last request of a range. */
  last_request?: number;
  item?: number;
  compaction?: number;
}
/** Which windows are too small: refused, or used with a warning, before any request. */
export interface GuardPolicy {
  rule: 'fixed' | 'shares';
  hard_minimum: number;
  warn_below: number;
  hard_share: number;
  warn_share: number;
  provider_names: 'exact' | 'plain' | 'aliases';
  usable_tokens: boolean;
  capped: boolean;
  refusal: string;
}
/** Connect a page; the reply names versions, project and session. */
export interface Hello {
  id: string;
  type: 'hello';
  protocol: number;
  /** Version of the page's own package. */
  version: string;
  client: string;
}
/** How invalid provider messages are repaired. */
export interface HygienePolicy {
  rule: 'opencode' | 'openclaw-2026.2' | 'openclaw-2026.9' | 'palimpsest';
}
/** An image of a session, for a page. */
export interface Image {
  /** A ``data:`` URL, small enough for a page. */
  image: string;
}
/** Import sessions from a file or folder; a page may name only one inside the project. */
export interface Import {
  id: string;
  type: 'import';
  path: string;
}
/** The progress of an import, sent a few times a second, first with 0 bytes. */
export interface ImportProgressNotice {
  kind: 'import-progress';
  /** The id of the import's command. */
  id: string;
  /** Bytes that were read so far. */
  bytes: number;
  /** Bytes of the source; 0 while they are not known. */
  total: number;
}
/** The result of importing one session. */
export interface Imported {
  /** Its id in this project. */
  id: string;
  title: string;
  /** ``copy``: its id belongs to another session here, or the session here was continued. */
  outcome: 'new' | 'same' | 'updated' | 'copy';
  /** Number of its messages. */
  messages: number;
  /** Whether it is another agent's recording, which cannot be continued. */
  read_only: boolean;
}
/** The imported sessions, and the problems of an import. */
export interface ImportedSessions {
  imported: Imported[];
  unreadable: Problem[];
  /** Lines of people's notes on the sessions that came with them. */
  notes: number;
}
/** An unreadable place of a log that was skipped, to be shown to the user. */
export interface Problem {
  /** File and byte offset. */
  where: string;
  what: string;
}
/** Answer a question about a session, or about a recording in a file; writes nothing. */
export interface Inspect {
  id: string;
  type: 'inspect';
  /** None means the notebook's session; with ``path``, a session of the recording, or None for its first. */
  session?: string;
  /** A recorded file or folder, from the kernel's start directory; none of it is imported. */
  path?: string;
  query: ViewQuery;
  /** The page that sends it: of its waiting questions for a track, only the newest is answered. */
  client: string;
}
/**
 * What an inspector shows of a session; a field that is not given is as when the inspector opens.
 *
 * Requests and items count from 1 in Python and in a link, and from 0 in a page.
 */
export interface InspectorPlace {
  /** The request at the cursor; None for the newest. */
  request?: number;
  /** The item whose card is open. */
  item?: number;
  /** The tool definition of that item whose card is open, from 1. */
  definition?: number;
  /** The request with which the shown request is compared; by default the request before it. */
  against?: number;
  /**
   * The first and the last request to which grid, tables and sums are narrowed.
   *
   * @minItems 2
   * @maxItems 2
   */
  range?: [unknown, unknown];
  /** Id of a subagent that is shown instead of the session; the other fields are about the subagent. */
  subagent?: string;
  /** A second session that is shown beside the first: its id, or the path of a recorded file. */
  beside?: string;
  /**
   * ``second`` where the other fields are about the session ``beside``; by default they are about the first session.
   */
  side?: 'second';
  tab?: 'compared' | 'timeline' | 'items' | 'requests' | 'cost' | 'wastes' | 'notes';
  /** The policy of the second track: its name, followed by its numbers. */
  policy?: string;
  /** The prices and the lifetime of the cache that were chosen on the page, in the words of ``given_prices``. */
  price?: string;
  /** Whether grid, window, difference and request show the policy instead of the recording. */
  what_if: boolean;
  /** Whether the sentences below the tracks, the legend of the marks and the prices are open. */
  explained: boolean;
  /** How often the grid's columns were widened; 0 where all requests fit. */
  zoom: number;
  filter?: ItemFilter;
}
/** The items that the grid lists, and their order. */
export interface ItemFilter {
  /** A kind, such as ``output``; empty for all. */
  kind: string;
  /** A tool's name; empty for all. */
  tool: string;
  /** Text that the item's label holds, whatever the case of its letters. */
  text: string;
  /** Whether to list only items that some request does not show whole. */
  changed: boolean;
  /** In the order in which they came, or the largest first. */
  sort: 'order' | 'size';
}
/** The items of a session, in the order of their first appearance. */
export interface ItemColumns {
  /** ``message/part``, with ``/result`` for the result of a call; the user pins or restores parts. */
  id: string[];
  /** Indexes in ``TimelineView.kinds``. */
  kind: number[];
  /** At most 80 characters; data, not markup. */
  label: string[];
  tool: string[];
  turn: number[];
  /** The first request that could show it. */
  entered: number[];
  /** Tokens of the whole item, by the ruler's estimator. */
  tokens: number[];
  /** Number of the provider's message that contains it: the cache stores whole messages. */
  block: number[];
  /** For a call its result, for a result its call; -1 where there is none. */
  partner: number[];
  /** Items that are results of failed calls. */
  errors: number[];
  pinned: number[];
  /** Items in the order of a request that shows all of them; empty where it is their own order. */
  order: number[];
}
/** An item's whole text, and the text that a request showed of it. */
export interface ItemText {
  item: number;
  state: 'whole' | 'truncated' | 'cleared' | 'masked' | 'summarised' | 'offloaded' | 'out' | 'reverted';
  /** At most ``MAX_TEXT_CHARS`` characters from ``offset`` on; data, not markup. */
  text: string;
  offset: number;
  /** Characters of the whole text. */
  chars: number;
  /** The text shown instead; None where the item is whole or removed, or the text is not known. */
  shown?: string;
}
/** Await the end of the running turn; if none runs, answer a prompt that a killed kernel left waiting. */
export interface Join {
  id: string;
  session?: string;
  type: 'loop';
}
/** How the newest user turns are chosen when a history limit applies. */
export interface LimitPolicy {
  rule: 'sliding' | 'batched';
  exact_provider: boolean;
  loose_key: boolean;
}
/** List the standing approvals, after revoking the given entries. */
export interface ListApprovals {
  id: string;
  session?: string;
  type: 'approvals';
  /** Numbers in the list as it was shown last; an empty list revokes all of it. */
  revoke?: number[];
}
/** Compare the session, its ancestors and all forks from the point where the first two branches part. */
export interface ListBranches {
  id: string;
  type: 'branches';
  session?: string;
}
/** List the panel's buttons, whose operations answer with text, and its slash commands. */
export interface ListButtons {
  id: string;
  type: 'buttons';
}
/** List the sessions that ``task`` calls of a session began. */
export interface ListChildren {
  id: string;
  type: 'children';
  session?: string;
}
/** List the models and agents that can answer here. */
export interface ListChoices {
  id: string;
  type: 'choices';
}
/** List the hooks and MCP servers of this kernel; with ``connect`` reconnect its servers first. */
export interface ListExtensions {
  id: string;
  type: 'extensions';
  connect: boolean;
  /** The kind that a cell shows. */
  kind?: 'hooks' | 'mcp';
}
/** List what a prompt can mention: the newest error, variables, cells, outputs and files. */
export interface ListMentions {
  id: string;
  type: 'mentions';
  session?: string;
  /** The agent that would answer, whose rules may differ; None means the session's. */
  agent?: string;
  /** Part of a file's path; the other kinds are listed completely, and the page filters them. */
  query: string;
}
/** List earlier prompts of the project, newest first: those of this session, then of the others. */
export interface ListPrompts {
  id: string;
  type: 'prompt-history';
  session?: string;
  /** The cursor in the answer for the page before. */
  cursor?: string;
}
/** List the sessions of the project, newest first, or those that contain all given words. */
export interface ListSessions {
  id: string;
  type: 'sessions';
  words: string;
  /** Whether to list archived sessions; None lists both kinds. */
  archived?: boolean;
  /** List also sessions that a ``task`` call began. */
  children: boolean;
  /** The cursor in the answer for the page before. */
  cursor?: string;
  /** The number of the page, where there is no cursor. */
  number: number;
  limit?: number;
}
/** List every setting with its origin. */
export interface ListSettings {
  id: string;
  type: 'config';
}
/** The standing approvals, and the rules that hold for every agent, lowest precedence first. */
export interface ListedApprovals {
  late: boolean;
  approvals: ApprovalRow[];
  rules: RuleRow[];
}
/** A rule that holds for every agent; of those that match a call, the last one decides. */
export interface RuleRow {
  permission: string;
  pattern: string;
  action: 'allow' | 'ask' | 'deny';
  origin: string;
}
/** A comparison of branches; Python and a cell use it as a ``BranchComparison``. */
export interface ListedBranches {
  branches: BranchTable;
}
/** The panel's buttons and typed commands, in the order of the table. */
export interface ListedButtons {
  buttons: OperationButton[];
  /** Built-in commands that can be typed after a slash, beside the user's own. */
  commands: AgentChoice[];
}
/** A button of the panel that asks for an operation. */
export interface OperationButton {
  label: string;
  help: string;
  command: string;
  arguments: {
    [k: string]: string | boolean | number;
  };
}
/** Earlier prompts of the project, newest first. */
export interface ListedPrompts {
  prompts: string[];
  /** Passed to get the next page; None on the last page. */
  cursor?: string;
}
/** Sessions, newest first. */
export interface ListedSessions {
  sessions: SessionSummary[];
  /** The number of sessions on all pages. */
  total: number;
  /** Passed to get the next page; None on the last page. */
  cursor?: string;
}
/** One entry of the session list. */
export interface SessionSummary {
  id: string;
  title: string;
  notebook?: string;
  /** In milliseconds since 1970, as are ``updated`` and ``archived``. */
  created: number;
  updated: number;
  parent_id?: string;
  forked_from?: ForkedFrom;
  /** Number of its messages. */
  messages: number;
  deleted: boolean;
  /** When it was archived; None if it is not archived. */
  archived?: number;
  /** Whether the session has a share page. */
  shared: boolean;
  /** The agent whose recording it is, such as ``pi``; empty for a session of ours. */
  imported_from: string;
  /** The beginning of the model-written summary of the session; empty if it has none. */
  about: string;
}
/** Every setting with its origin. */
export interface ListedSettings {
  settings: SettingRow[];
  /** Sentences on settings that are wrong or wait for trust. */
  remarks: string[];
}
/** A setting, its value as text, and the value's origin. */
export interface SettingRow {
  key: string;
  value: string;
  origin: string;
}
/**
 * The cache marks of requests, in the order of the prompt: after each the client asked for the prompt to be cached.
 */
export interface MarkColumns {
  request: number[];
  /** The item that the mark stands after; -1 where that is not known. */
  item: number[];
  /** For an item of tools the definition, from 0, that the mark stands after; -1 for other items. */
  definition: number[];
  /** The mark's place as it was sent, such as ``message 7, block 2``; empty where the item is known. */
  place: string[];
  /** ``5m`` or ``1h``; empty where the client left it to the provider. */
  lifetime: string[];
}
/** The things that a prompt may mention, in each kind the newest and nearest first. */
export interface MentionList {
  rows: MentionRow[];
  /** Whether there are more files than are listed, which a query finds; the field is left out if not. */
  more?: boolean;
}
/** Something that a prompt may name. */
export interface MentionRow {
  /** The text after the at sign: ``cell 4``, ``df``, ``data/birds.csv``. */
  text: string;
  kind: 'error' | 'variable' | 'cell' | 'out' | 'file';
  /** First line of the cell, type and shape of the variable, or the error. */
  about: string;
  /** Whether the cell ended with an error; the field is left out if it did not. */
  failed?: boolean;
}
/** The content that would be sent with a prompt because of one mention. */
export interface MentionPreview {
  /** The mention as it was typed, with its at sign. */
  text: string;
  kind: 'error' | 'variable' | 'cell' | 'out' | 'file';
  /** Number of the cell, name of the variable or path of the file; empty where there is none. */
  name: string;
  /**
   * ``sent``, ``uncounted`` and ``busy`` are sent with the prompt; tokens are not known before sending for ``uncounted``,
   * nor before the running cell has ended for ``busy``. ``asks``: the user is asked first. The others are not sent:
   * ``unknown`` names nothing, ``hidden`` is a cell hidden from the agent, ``denied`` is denied by a rule, ``unreadable``
   * cannot be read, and ``beyond`` exceeds the number of mentions allowed.
   */
  state: 'sent' | 'unknown' | 'hidden' | 'denied' | 'asks' | 'busy' | 'uncounted' | 'unreadable' | 'beyond';
  /** Type and shape of the variable, or the error. */
  about: string;
  /** Tokens that the mention adds to the prompt. */
  tokens?: number;
}
/** Info and parts, parts in the order in which they first appeared. */
export interface Message {
  info: MessageInfo;
  parts: Part[];
}
/** The info of a message by the user, or by the engine in the user's place. */
export interface UserMessage {
  role: 'user';
  id: string;
  session_id: string;
  time: MessageTime;
  agent: string;
  model: ModelRef;
  /** The user's addition to the system prompt of this turn. */
  system?: string;
  /** Tools switched on or off for this turn. */
  tools?: {
    [k: string]: boolean;
  };
  /** The outcome of the turn: ``diffs`` of files, and ``title`` and ``body`` as text where a model wrote them. */
  summary?: {
    [k: string]: unknown;
  };
  /** The form that the answer must have: ``type`` (``json_schema``), ``schema`` and ``retryCount``. */
  format?: {
    [k: string]: unknown;
  };
  origin?: Origin;
  max_steps?: number;
  /** Whether the message was sent while a turn was running, and so belongs to that turn. */
  joins?: boolean;
}
/** Where a prompt came from. */
export interface Origin {
  kind: 'cell' | 'panel' | 'api' | 'engine';
  /** The login name of the user who sent the prompt; None for the engine, and where it is unknown. */
  user?: string;
  cell_id?: string;
  execution_count?: number;
  notebook?: string;
}
/** A note for the model, sent with a prompt, about what the user did in the notebook since the last turn. */
export interface NotebookPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'notebook';
  /**
   * ``runs``: the cells that ran since the last turn; ``mention``: a cell or variable that the prompt names;
   * ``error``: a cell that failed, with the context needed to mend it.
   */
  about: 'runs' | 'mention' | 'error';
  /** The cells with their outputs, between tags; sent unchanged, byte for byte. */
  text: string;
  cells: NotedCell[];
  /** Variables that the prompt names and the text describes. */
  names: string[];
  /** Cells that ran and are only named in the text, to save tokens. */
  omitted: NotedCell[];
  /** Cells that were edited without being run, and deleted cells, as an open page reported them. */
  edits: NotedEdit[];
  /**
   * Changes of cells by the agent that the user took back, each as its call's id, a colon and its number in the call.
   */
  reviews: string[];
  /** Id of the kernel that recorded these runs. */
  kernel: string;
  /** Serial number of the newest run that was considered; later runs are reported with the next prompt. */
  through: number;
  /** Number of cells that ran and are hidden from the agent by their tag or by ``%agent private``. */
  hidden: number;
  /** Tokens of the text when it was written. */
  tokens?: number;
}
/** A run of a cell that a notebook part describes. */
export interface NotedCell {
  /** Number of the run in its kernel, from 1. */
  serial: number;
  /** The execution count shown beside the cell. */
  number?: number;
  cell_id?: string;
  status: 'running' | 'ok' | 'error' | 'stopped';
  /** The cell's source when it failed, so that a proposed change can be compared with it; else None. */
  source?: string;
  /** A counter that grows with each output of the run; a higher value later means more output. */
  version: number;
}
/** A change of a cell since its run, as a notebook part describes it. */
export interface NotedEdit {
  cell_id: string;
  /** The execution count of the run with which the cell was compared. */
  number?: number;
  /** The serial number of that run; 0 where the cell never ran. */
  serial: number;
  /** ``as it ran``: the cell again has the source of its run, after an edit that was reported before. */
  state: 'edited' | 'as it ran' | 'deleted';
  /** A digest of the cell's source. */
  mark: string;
}
/** Files that a step changed. */
export interface PatchPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'patch';
  /** The snapshot before the tools' changes: of the step, or since the last answer of a person. */
  hash: string;
  /** Paths below the project's directory. */
  files: string[];
  /** Number of further changed files, which are not listed; the two snapshots show which. */
  more?: number;
  /** The snapshot after the step. */
  after?: string;
}
/** The model's thinking, byte-exact, since signatures cover it. */
export interface ReasoningPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'reasoning';
  text: string;
  time?: Span;
  /** Provider data that must be sent back, such as ``thinking_blocks`` with signatures. */
  metadata?: {
    [k: string]: unknown;
  };
}
/** When something began and ended, in milliseconds since 1970. */
export interface Span {
  start: number;
  end?: number;
}
/** A model request failed and was, or will be, sent again. */
export interface RetryPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'retry';
  attempt: number;
  error: ApiError;
  time: Span;
}
/** The project's files at the beginning of a turn, added to its prompt when its first step runs. */
export interface SnapshotPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'snapshot';
  snapshot: string;
}
/** A model request and the tool calls it caused are done. */
export interface StepFinishPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'step-finish';
  reason: string;
  snapshot?: string;
  /** US dollars; None means unknown. */
  cost?: number;
  /**
   * Whether ``cost`` is an estimate: a gateway serves the model, and the price is that of the listed model with its name.
   */
  cost_listed?: boolean;
  tokens: Usage;
  /** Duration of the step, without the time spent waiting for the user. */
  seconds?: number;
  /** Time that the step waited for the user. */
  waited_seconds?: number;
  /** Tokens in the context of this request, as the provider counted them. */
  context_tokens?: number;
  /** Context window of the model that answered; 0 where it has no limit. */
  window?: number;
}
/** A model request begins. */
export interface StepStartPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'step-start';
  snapshot?: string;
  /** The ``step.requested`` record that this step sent. */
  request_id?: string;
}
/** Work that the user delegates to another agent. */
export interface SubtaskPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'subtask';
  prompt: string;
  description: string;
  agent: string;
  model?: ModelRef;
  command?: string;
}
/** Text by the user, the model, or the engine. */
export interface TextPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'text';
  text: string;
  /** Whether the engine wrote the text. */
  synthetic: boolean;
  /** Whether the text is only kept in the transcript, and not sent to the model. */
  ignored: boolean;
  /** Whether no decision may reduce the text. */
  pinned: boolean;
  time?: Span;
  metadata?: {
    [k: string]: unknown;
  };
}
/** One tool call and its state. */
export interface ToolPart {
  id: string;
  session_id: string;
  message_id: string;
  type: 'tool';
  /** The provider's id of the call; may be kilobytes long (Gemini). */
  call_id: string;
  tool: string;
  state: ToolState;
  pinned: boolean;
  /** Provider data; ``provider_executed`` is true for calls the provider ran itself. */
  metadata?: {
    [k: string]: unknown;
  };
}
/** The tool returned. */
export interface ToolCompleted {
  status: 'completed';
  input: {
    [k: string]: unknown;
  };
  /** The whole output, or its head and tail when ``blob`` is set. */
  output: string;
  blob?: BlobRef;
  title: string;
  metadata: {
    [k: string]: unknown;
  };
  time: Span;
  attachments: Attachment[];
}
/** The tool failed, was refused, or was interrupted. */
export interface ToolFailed {
  status: 'error';
  input: {
    [k: string]: unknown;
  };
  error: string;
  /** ``interrupted`` is true for a stopped call; ``output`` then has the text printed before. */
  metadata: {
    [k: string]: unknown;
  };
  time: Span;
}
/** The model is still writing the call. */
export interface ToolPending {
  status: 'pending';
  input: {
    [k: string]: unknown;
  };
  /** The input as far as it has arrived. */
  raw: string;
}
/** The tool is running. */
export interface ToolRunning {
  status: 'running';
  input: {
    [k: string]: unknown;
  };
  title?: string;
  /** ``output`` holds partial output while the tool runs. */
  metadata: {
    [k: string]: unknown;
  };
  time: Span;
}
/** A message and its parts were removed by the user (cleanup after a revert). */
export interface MessageRemoved {
  type: 'message.removed';
  message_id: string;
}
/** A message appeared or its info changed. */
export interface MessageUpdated {
  type: 'message.updated';
  info: MessageInfo;
}
/** What is known about a model: its limits, price and abilities. */
export interface ModelInfo {
  ref: ModelRef;
  /** Tokens of context, input and output together; 0 where no limit is known or wanted. */
  window: number;
  /** Whether the window is our default, since the model is unknown. */
  window_assumed: boolean;
  input_limit?: number;
  output_limit: number;
  price: Price;
  /**
   * The other model's name in litellm's list whose limits and price are used as estimates; None for the model's own.
   */
  listed_as?: string;
  tools: boolean;
  vision: boolean;
  reasoning: boolean;
  caching: boolean;
  api_base?: string;
}
/** US dollars per million tokens; None means unknown, never free. */
export interface Price {
  input?: number;
  output?: number;
  cache_read?: number;
  cache_write?: number;
  /** For tokens that the cache keeps an hour instead of minutes. */
  cache_write_hour?: number;
  /** Other prices for long prompts, lowest threshold first. */
  tiers: PriceTier[];
  /** Other prices by the provider's service tier. */
  services: ServicePrice[];
}
/** Prices of requests whose prompt is longer than ``above`` tokens. */
export interface PriceTier {
  above: number;
  price: Price;
}
/** Prices of requests that were answered in a service tier. */
export interface ServicePrice {
  /** ``batch``, ``flex`` or ``priority``. */
  service_tier: string;
  price: Price;
}
/** Begin a new session in this notebook; a session with a parent does not become the current one. */
export interface NewSession {
  id: string;
  type: 'new';
  title?: string;
  /** The id of the session to which it belongs, as one that a task began. */
  parent?: string;
  /** Permission rules in the form of the settings, for this session only; checked when they are loaded. */
  permission?:
    | {
        [k: string]: unknown;
      }
    | string;
}
/** A note as it is now. */
export interface Note {
  id: string;
  session: string;
  author: string;
  time: number;
  place: NotePlace;
  text: string;
  tag: string;
  verdict: '' | 'good' | 'bad' | 'unsure';
  changed?: number;
  changed_by: string;
}
/** The place of a note in a session; numbers count from 1, as people are shown them. */
export interface NotePlace {
  kind: 'session' | 'request' | 'item' | 'range' | 'break' | 'compaction';
  request?: number;
  last?: number;
  item: string;
  compaction?: number;
}
/** A person's note on the session, with its place in the view. */
export interface NoteView {
  note: Note;
  found: FoundPlace;
}
/** The notes on the session. */
export interface NotesText {
  /** Oldest first. */
  notes: NoteView[];
  /** Sentences on lines of the files that cannot be read. */
  problems: string[];
}
/** Make another session the current one of this notebook. */
export interface OpenSession {
  id: string;
  type: 'open';
  session: string;
}
/** The result of a command that ran longer than its reply. */
export interface OutcomeNotice {
  kind: 'outcome';
  id: string;
  /** One sentence, if the command failed. */
  error?: string;
  /** The operation's answer, of the type in ``Answers``. */
  answer?: {};
  /** The text that a cell would show of the answer, where the operation has a button. */
  words?: string;
  typed?: TypedAnswer;
}
/** What the panel does after a typed slash command. */
export interface TypedAnswer {
  /** The text that a cell would show of the answer; empty where the transcript shows it. */
  markdown: string;
  /** The view to open. */
  view?: 'inspector' | 'sessions' | 'share' | 'window';
  /** The model to choose for the next prompt. */
  model?: string;
  agent?: string;
}
/** How large a request may be, and how it is recognised that one was too large. */
export interface OverflowPolicy {
  rule: 'opencode-1.1' | 'opencode-1.18' | 'precheck' | 'estimate';
  auto: boolean;
  reserved?: number;
  output_cap: number;
  safety_margin: number;
  refusals: 'none' | 'opencode' | 'openclaw-2026.2' | 'openclaw-2026.9' | 'union';
  silent: 'none' | 'stopped' | 'all';
  reserve_share: boolean;
  measured: boolean;
}
/** The user's own policy as it is recorded: for reading only, it is never run from a log. */
export interface OwnPolicy {
  name: string;
  source: string;
  text: string;
  sha256: string;
}
/** One cell of a notebook, as the page holds it. */
export interface PageCell {
  id: string;
  /** ``code``, ``markdown`` or ``raw``. */
  kind: string;
  /** The cell's text now; None for a hidden cell, and where the notebook is too large to be sent whole. */
  source?: string;
  /** The execution count shown beside the cell. */
  number?: number;
  /** Id of the session that wrote the cell's source, as the cell's metadata have it; None where a person did. */
  session?: string;
  /** Whether the cell has the tag ``agent-hidden``, so that only its id is sent. */
  hidden: boolean;
  /** The outputs in the format of a notebook file, cut to the requested length. */
  outputs: {
    [k: string]: unknown;
  }[];
  /** Number of outputs that the page did not send, because they were too many or too large. */
  dropped: number;
}
/** One notebook that is open in a page. */
export interface PageNotebook {
  /** The file's path on the page's server. */
  path: string;
  cells: PageCell[];
  /** Ids of cells that were deleted since a cell ran. */
  deleted: string[];
  /** Whether the page's tab is in front; where two pages show one notebook, the visible page is used. */
  visible: boolean;
}
/**
 * New text of a part, coalesced per tick.
 *
 * ``field`` is a dotted path to a string: ``text``, ``state.raw`` or ``state.metadata.output``.
 */
export interface PartDelta {
  type: 'message.part.delta';
  message_id: string;
  part_id: string;
  field: string;
  delta: string;
}
/** A part was removed by the user. */
export interface PartRemoved {
  type: 'message.part.removed';
  message_id: string;
  part_id: string;
}
/** A part appeared or changed; the event has the whole part. */
export interface PartUpdated {
  type: 'message.part.updated';
  part: Part;
}
/** A file that is sent with the next prompt. */
export interface PastedFile {
  attachment: Attachment;
  /** Estimated tokens that it adds to the prompt. */
  tokens: number;
  /** Whether the model accepts no pictures, so that a note is sent instead. */
  unseen: boolean;
}
/** A tool call waits for the user's permission. */
export interface PermissionAsked {
  type: 'permission.asked';
  ask: Ask;
}
/** A permission ask was answered. */
export interface PermissionReplied {
  type: 'permission.replied';
  ask_id: string;
  reply: Reply;
}
/** The user's answer to an ask. */
export interface Reply {
  answer: 'once' | 'always' | 'reject';
  /** Text for the model; a rejection with feedback does not end the turn. */
  feedback?: string;
  /** How far an "always" reaches; None means the session. */
  scope?: 'session' | 'project';
  /** The answers about single changes of cells, for which ``answer`` is "once"; None accepts all. */
  cells?: CellDecision[];
  /** Who answered: ``person``, ``--yes``, ``headless``, ``cancel`` or a rule. */
  by: string;
}
/** A question is open; a page that receives this sends ``Watch`` at once. */
export interface PingNotice {
  kind: 'ping';
}
/** The context policy of a session, as data. */
export interface Policy {
  name: string;
  version: number;
  estimator: string;
  truncate: TruncatePolicy;
  reserved: number;
  history_limit?: number;
  prune: PrunePolicy;
  overflow: OverflowPolicy;
  compact: CompactPolicy;
  limit: LimitPolicy;
  guard: GuardPolicy;
  convert: ConvertPolicy;
  transform: TransformPolicy;
  hygiene: HygienePolicy;
  recovery: RecoveryPolicy;
  reminders: ReminderPolicy;
  environment: 'palimpsest' | 'opencode-1.1' | 'opencode-1.18';
}
/** When a tool output is shortened, and what is kept of it. */
export interface TruncatePolicy {
  max_lines: number;
  max_bytes: number;
  window_share?: number;
  share_counted: 'tokens' | 'bytes';
  direction: 'head' | 'tail' | 'auto';
  form: 'ends' | 'lines';
  recall: boolean;
  task: boolean;
}
/** Which old tool outputs are cleared from later requests, and when. */
export interface PrunePolicy {
  rule: 'none' | 'opencode' | 'cache-ttl' | 'batch';
  protect_turns: number;
  protect_tokens: number;
  minimum_tokens: number;
  full_window: number;
  minimum_scaled: 'share' | 'square';
  protected_tools: string[];
  start_share: number;
  target_share: number;
  ttl_seconds: number;
  keep_assistants: number;
  soft_ratio: number;
  hard_ratio: number;
  hard_clear: boolean;
  min_prunable_chars: number;
  soft_max_chars: number;
  soft_head_chars: number;
  soft_tail_chars: number;
  placeholder: string;
  recall: boolean;
  allow_tools: string[];
  deny_tools: string[];
  sticky: boolean;
  media: 'spared' | 'removed';
  wide_chars: boolean;
}
/** How provider-neutral messages are changed for one model, before they are written in the provider's format. */
export interface TransformPolicy {
  rule: 'writer' | 'opencode';
  unsupported: string;
  empty_image: string;
}
/** What is tried after a request did not fit, and how often in one turn. */
export interface RecoveryPolicy {
  compactions: number;
  truncations: number;
  result_share: number;
  results_counted: 'tokens' | 'characters';
  result_cap?: number;
  result_minimum: number;
  result_form: 'head' | 'ends' | 'weighed';
  result_middle: string;
  result_suffix: string;
  recall: boolean;
  results_together: 'none' | 'single' | 'window';
  cut_first: 'oldest' | 'newest';
  compaction_seconds: number;
  wait_seconds: number;
  counted: 'ends' | 'results';
  snapshot: 'whole' | 'continuable';
  turn_seconds?: number;
}
/** Texts that the engine adds to the user's messages, and when. */
export interface ReminderPolicy {
  steered: 'plain' | 'once' | 'until-answered';
  before: string;
  after: string;
  last_step: 'user' | 'assistant';
  news: boolean;
  real_call: boolean;
  mode: 'note' | 'newest';
}
/** A policy as the user chose it: a preset, and the numbers that differ from it. */
export interface PolicyChoice {
  base: string;
  changes: {
    [k: string]: unknown;
  };
}
/**
 * One row of a comparison; tokens by the ruler, money by the price profile; None where a recording reports nothing.
 */
export interface PolicyFigures {
  name: string;
  requests: number;
  /** Tokens of all requests together. */
  input: number;
  peak: number;
  /** Number of requests that would not fit the window, by reported tokens where unchanged, else by the ruler. */
  over?: number;
  /** Share of the input that was read from the cache. */
  cached: number;
  /** Number of requests whose beginning changed while the cache was warm. */
  breaks: number;
  /** Tokens that the breaks had written anew, without new tokens. */
  break_tokens: number;
  /** Tokens written to the cache as a multiple of the peak: 1 where nothing is written twice. */
  rewrite: number;
  /** Cost with the cache, without the calls for summaries. */
  cost: number;
  /** Cost of the calls for summaries. */
  summaries?: number;
  /** Cost of fetching results again that were needed and no longer shown. */
  refetching?: number;
  /** Cost if no provider cached anything. */
  cost_uncached: number;
  repeated?: number;
  retention?: number;
  fired?: number;
  /** The first request at which the rule acted. */
  first_fired?: number;
  /** The highest value of the rule's signal as a share of its threshold; None without a threshold. */
  distance?: number;
  /** How often the rule acted, or why it never did, with numbers. */
  verdict: string;
  facts_until?: number;
  /** Whether the cost was recorded; else it is an estimate, even where the tokens were reported. */
  cost_is_fact: boolean;
  /** Retention of each kind of used names. */
  retention_by_kind: {
    [k: string]: number;
  };
}
/** A policy that a session can be replayed under. */
export interface PolicyOption {
  name: string;
  /** A sentence on its rule. */
  what: string;
  source: string;
  /** The most important numbers, at most three. */
  sliders: SliderView[];
}
/** One number of a policy, with the stops that are offered. */
export interface SliderView {
  name: string;
  stops: number[];
  default: number;
}
/** Announce that the user is about to ask, so that the model's modules are imported meanwhile. */
export interface Prepare {
  id: string;
  type: 'prepare';
  session?: string;
}
/** Return the content that mentions would add to a prompt that is being typed; sends nothing. */
export interface PreviewMentions {
  id: string;
  type: 'mention-preview';
  session?: string;
  agent?: string;
  text: string;
}
/** The content that each mention would add to a prompt. */
export interface PreviewedMentions {
  previews: MentionPreview[];
}
/** Prices per million tokens, in US dollars or in units of one uncached input token. */
export interface PriceProfile {
  input: number;
  output: number;
  read: number;
  write: number;
  name: string;
  unit: 'USD' | 'units';
  /** The list that the prices are from, with its date; empty where they were given. */
  source: string;
  /** Whether the session's recorded costs follow these prices; else every amount computed with them is an estimate. */
  matches_recorded: boolean;
  /** Whether each request has its own price, and recorded costs apply; else these prices apply to all requests. */
  of_session: boolean;
  /** Whether the user gave this model's price, which takes precedence over a list. */
  is_given: boolean;
  /** Whether the user gave prices, none of which is for a model of the session. */
  all_unused: boolean;
  model_price?: Price;
  /** Whether a replay's writes are kept for an hour, as most of the recorded requests to the model requested. */
  writes_hour: boolean;
  /** Prices of the session's other models, which apply to their requests. */
  other_models: PriceProfile[];
  /** Models of the session whose price is not known, so that these prices apply to their requests. */
  unpriced_models: string[];
}
/** Send a prompt; it waits until the running turn has ended. */
export interface Prompt {
  id: string;
  session?: string;
  text: string;
  model?: string;
  variant?: string;
  agent?: string;
  system?: string;
  tools?:
    | string[]
    | {
        [k: string]: boolean;
      };
  max_steps?: number;
  files: Attachment[];
  client?: string;
  type: 'prompt';
}
/** A prompt was accepted into the inbox. */
export interface PromptAdmitted {
  type: 'prompt.admitted';
  prompt_id: string;
  text: string;
  delivery: 'steer' | 'queue';
  origin?: Origin;
  /** The prompt's settings: model, variant, agent, system, tools, files, max_steps. */
  options: {
    [k: string]: unknown;
  };
}
/** A prompt left the inbox and became a message, or was withdrawn. */
export interface PromptDelivered {
  type: 'prompt.delivered';
  prompt_id: string;
  /** None when the prompt was withdrawn before it was delivered. */
  message_id?: string;
  /** Whether the prompt was withdrawn because the turn before it was stopped, and not by the user. */
  stopped?: boolean;
}
/** How well the replay, on which every track is based, reproduces the recording. */
export interface ProofView {
  /** The first is about how much is reproduced, the others about why the rest is not. */
  sentences: string[];
  /** Share of the comparable requests that are reproduced, 0 to 1; None where none is comparable. */
  share?: number;
  /** Whether too little is reproduced; figures based on it are drawn pale and marked. */
  is_doubtful: boolean;
}
/** List completions for a slash command that is being typed, as a cell completes it. */
export interface ProposeArguments {
  id: string;
  type: 'arguments';
  session?: string;
  /** The text before the caret, from the slash on. */
  text: string;
}
/** Completions for the word that is being typed. */
export interface ProposedArguments {
  words: string[];
}
/** A request from which on further items are reduced. */
export interface PruneView {
  request: number;
  items: number;
}
/** The model's question ended without an answer. */
export interface QuestionRejected {
  type: 'question.rejected';
  question_id: string;
  /** Why it ended: ``person`` (the user declined), ``headless``, ``cancel`` or ``restart``. */
  by: string;
}
/** The user answered the model's question. */
export interface QuestionReplied {
  type: 'question.replied';
  question_id: string;
  answers: string[][];
}
/** Send a prompt that waits until the running turn has ended. */
export interface Queue {
  id: string;
  session?: string;
  text: string;
  model?: string;
  variant?: string;
  agent?: string;
  system?: string;
  tools?:
    | string[]
    | {
        [k: string]: boolean;
      };
  max_steps?: number;
  files: Attachment[];
  client?: string;
  type: 'queue';
}
/** Journal records, as they were written in one tick, or again after ``resync``. */
export interface RecordsNotice {
  kind: 'records';
  session: string;
  records: {
    [k: string]: unknown;
  }[];
  /** Id of the resync command that this answers. */
  resync?: string;
  /** In an answer to ``resync``: the number of the record directly before the first of these. */
  after?: number;
  /** The last notice of an answer to ``resync``. */
  last: boolean;
}
/** Rebuild the outputs of a turn's cell, where the notebook no longer has them. */
export interface RecreateOutputs {
  id: string;
  type: 'recreate-outputs';
  session: string;
  turn: string;
}
/** The outputs of a turn's cell, as a notebook saves them. */
export interface RecreatedOutputs {
  outputs: {
    [k: string]: unknown;
  }[];
}
/** Release a held request; it is assembled again and sent. */
export interface ReleaseRequest {
  id: string;
  session?: string;
  hold: string;
  type: 'release';
}
/**
 * Record that the notebook was renamed, and move its sessions to the new name.
 *
 * Both paths are those that the server reports. If the kernel has another notebook, or it was
 * renamed already, the command has no effect.
 */
export interface RenameNotebook {
  id: string;
  type: 'rename';
  /** The path before. */
  was: string;
  /** The path now. */
  notebook: string;
}
/** The requests of a session, in order. */
export interface RequestColumns {
  id: string[];
  turn: number[];
  /** Number of items that existed when the request was sent: it could show the items below this number. */
  items: number[];
  /** Milliseconds since 1970. */
  started: (number | null)[];
  ended: (number | null)[];
  /** Indexes in ``TimelineView.models``; -1 where none is recorded. */
  model: number[];
  effort: string[];
  /** Window of its model in tokens: as recorded, else as listed; 0 where neither is known. */
  window: number[];
  reserve: number[];
  status: ('ok' | 'aborted' | 'refused')[];
  seen: ('exact' | 'captured' | 'rebuilt' | 'partial')[];
  /** Tokens of the whole prompt, a fact; None where nothing was reported. */
  reported: (number | null)[];
  /** Tokens of the prompt that were read from the cache. */
  read: (number | null)[];
  written: (number | null)[];
  /** Tokens of the answer, including reasoning. */
  output: (number | null)[];
  /** In the money of ``PriceProfile``: as recorded, else the usage at its prices; their sum is the session's cost. */
  cost: (number | null)[];
  /** Whether the cost was not recorded, and so is an estimate. */
  listed: boolean[];
}
/** A request as blocks. */
export interface RequestText {
  request: number;
  policy: string;
  /**
   * How it is known: exactly as sent, in part from a capture, rebuilt from earlier messages, incomplete, or estimated for
   * a policy.
   */
  basis: 'exact' | 'captured' | 'rebuilt' | 'partial' | 'estimate';
  /** The basis in words. */
  note: string;
  /** With at most ``MAX_BLOCK_CHARS`` characters of each text; an item's whole text is a question of its own. */
  blocks: RequestItem[];
  first: number;
  /** Number of blocks that match, including those not sent here. */
  total: number;
  tokens: number;
}
/** Send everything after a sequence number again, or the whole session when ``after`` is None. */
export interface Resync {
  id: string;
  type: 'resync';
  session?: string;
  after?: number;
  client: string;
}
/** Change a session's title. */
export interface Retitle {
  id: string;
  type: 'title';
  session?: string;
  /** None only returns the title. */
  title?: string;
}
/** Send the newest turn's request again, because it failed; or replace a turn by sending its prompt again. */
export interface Retry {
  id: string;
  session?: string;
  type: 'retry';
  /** A message or part of the turn to replace; later turns are replaced, too; ``last`` is the newest turn. */
  target: string;
  /** Files to restore although they were changed outside the session. */
  overwrite: string[];
  /** The model for this turn. */
  model?: string;
  /** The permission mode of the session from now on. */
  mode?: string;
}
/** Revert a message and all that follow, undo that, make it final, or only preview it. */
export interface Revert {
  id: string;
  type: 'revert';
  session?: string;
  action: 'preview' | 'revert' | 'unrevert' | 'cleanup' | 'diff';
  /** The id of a message or part; empty means the newest prompt, and for ``diff`` the whole session. */
  target: string;
  /** Files to overwrite although they were changed outside the session. */
  overwrite: string[];
  /** ``overwrite`` may name only files with a conflict; empty, or ``all``, means all of them. */
  in_conflict: boolean;
}
/** The outcome of an operation on reverts. */
export interface RevertAnswer {
  revert?: RevertPreview;
  /** The changes in files. */
  diffs?: FileDiff[];
}
/** The effect of a revert or an unrevert, as a preview or after it was done. */
export interface RevertPreview {
  message_id: string;
  part_id?: string;
  messages: RevertedMessage[];
  files: RevertedFile[];
  cells: RevertedCell[];
  problem?: string;
  done: boolean;
}
/** A message that a revert hides. */
export interface RevertedMessage {
  id: string;
  role: 'user' | 'assistant';
  excerpt: string;
}
/** The effect of a revert on one file. */
export interface RevertedFile {
  file: string;
  action: 'restore' | 'delete' | 'nothing' | 'conflict' | 'impossible';
  reason?: string;
  diff?: FileDiff;
}
/** The effect of a revert on one cell that the agent changed. */
export interface RevertedCell {
  message: string;
  call: string;
  index: number;
  change: MadeChange;
  problem: string;
  note?: string;
}
/**
 * Accept changes of cells that were made without asking, or take them back; without decisions list those to look at.
 */
export interface ReviewCells {
  id: string;
  type: 'review-cells';
  session?: string;
  /** The tool call that made the changes; None where ``all`` is about all calls of the session. */
  call?: string;
  /** Decisions on single changes of the call. */
  decisions: CellDecision[];
  /** What is done with all open changes, of the call or of the session. */
  all?: 'accept' | 'reject';
  /** Only the open change with this number in the list, from 1. */
  number?: number;
  /** Why all are rejected, for the model. */
  reason: string;
}
/** The ruler: tokens = unseen + factor x the estimator's tokens of the items. */
export interface RulerView {
  estimator: string;
  unseen: number;
  factor: number;
  /** Whether it was fitted to reported usage. */
  measured: boolean;
  /** A sentence on it. */
  words: string;
}
/** Run a cell as a person would, if it still has this source. */
export interface RunCellNotice {
  kind: 'run-cell';
  request: string;
  client: string;
  notebook: string;
  cell: string;
  source: string;
}
/** An item that holds a searched text. */
export interface SearchedItem {
  item: number;
  /** How often its whole text holds the searched one. */
  count: number;
  /** The text around the first place, at most ``MAX_EXCERPT_CHARS`` characters; data, not markup. */
  excerpt: string;
}
/** The items that hold a searched text, in the order in which they came. */
export interface SearchedTexts {
  /** At most ``MAX_SEARCHED``. */
  items: SearchedItem[];
  /** Number of all items that hold the text. */
  total: number;
  /** A sentence on texts that could not be searched; empty where there are none. */
  note: string;
}
/** The session that was opened or begun, or whose turn ended. */
export interface SessionAnswer {
  session: SessionHead;
}
/** A compaction was completed. */
export interface SessionCompacted {
  type: 'session.compacted';
  message_id: string;
}
/** Two sessions side by side. */
export interface SessionComparison {
  first: ComparedSession;
  second: ComparedSession;
  /** Number of steps from the beginning in which both do the same. */
  shared: number;
  /** Where they part, in a sentence. */
  sentence: string;
  /** Empty where their costs are in different money. */
  unit: 'USD' | 'units' | '';
  figures: ComparedFigure[];
  files: ComparedFile[];
  notes: string[];
  /** In a kernel's answer the comparison's name, by which a later question tells that the page has the comparison. */
  stamp: string;
}
/** A session began. */
export interface SessionCreated {
  type: 'session.created';
  session: SessionInfo;
}
/** One agent conversation belonging to one notebook. */
export interface SessionInfo {
  id: string;
  project_id: string;
  /** Working directory when the session was created. */
  directory: string;
  /** The notebook's path relative to the kernel's start directory; None for a console. */
  notebook?: string;
  /** The session whose ``task`` call started this one. */
  parent_id?: string;
  forked_from?: ForkedFrom;
  title: string;
  version: string;
  time: SessionTime;
  agent?: string;
  model?: ModelRef;
  policy?: Policy;
  policy_choice?: PolicyChoice;
  own_policy?: OwnPolicy;
  /** Rules of "always" replies, as the log claims them; the effective ones are kept outside the project. */
  permission: Rule[];
  /** Rule sets of the sessions or callers that began this one: a denial in any of them applies here. */
  limits: Rule[][];
  /** The permission mode that was shown last: ask, plan, accept-edits or bypass. */
  mode?: string;
  /** Whether the mode was chosen for this session; else it is the configured mode. */
  mode_own?: boolean;
  cost?: number;
  tokens: Usage;
  /** Requests whose price is unknown; ``cost`` leaves them out. */
  unpriced?: number;
  below?: Spent;
  budget?: Budget;
  claimed?: Claims;
  share?: {
    [k: string]: unknown;
  };
  revert?: {
    [k: string]: unknown;
  };
  /**
   * The session's changes as counts (``additions``, ``deletions``, ``files``), and its work as text in ``body``, up to
   * the turn of ``message_id``.
   */
  summary?: {
    [k: string]: unknown;
  };
  metadata?: {
    [k: string]: unknown;
  };
  /** Models whose small window the user was warned of in this session. */
  warned_of: string[];
}
/** Moments of a session, in milliseconds since 1970. */
export interface SessionTime {
  created: number;
  updated: number;
  compacting?: number;
  archived?: number;
}
/** The tokens and money that were spent on requests. */
export interface Spent {
  /** US dollars of the requests whose price is known; None where there was no such request. */
  cost?: number;
  tokens: Usage;
  /** Requests whose price is unknown; ``cost`` leaves them out. */
  unpriced: number;
}
/** The user deleted the session. */
export interface SessionDeleted {
  type: 'session.deleted';
  session_id: string;
  session?: SessionInfo;
}
/** The files that the session changed. */
export interface SessionDiff {
  type: 'session.diff';
  diff: {
    [k: string]: unknown;
  }[];
}
/** A failure that is shown to the user: an answer's error, or a failure outside of any answer. */
export interface SessionError {
  type: 'session.error';
  error: ErrorValue;
  message_id?: string;
}
/** The field that all questions have. */
export interface SessionQuery {
  /** Id of a subagent, of the session or of its subagents, that is asked about instead of the session. */
  subagent?: string;
}
/** The present state of a session, in numbered pieces; a piece may arrive more than once. */
export interface SessionStateNotice {
  kind: 'session-state';
  session: string;
  resync: string;
  seq: number;
  head: SessionHead;
  messages: Message[];
  todos: Todo[];
  inbox: PromptAdmitted[];
  info?: SessionInfo;
  /** The answers to permission questions, by the id of the tool call that asked. */
  replies: {
    [k: string]: Reply;
  };
  /** The decisions that reduced the context; only in the last piece. */
  decisions: Decision[];
  context_fill?: ContextFill;
  /** The number of this piece, from 0. */
  piece?: number;
  /** The number of pieces; the session is complete when all have arrived. */
  pieces?: number;
  last: boolean;
}
/** One line of the session's todo list. */
export interface Todo {
  content: string;
  status: 'pending' | 'in_progress' | 'completed' | 'cancelled';
  priority: 'high' | 'medium' | 'low';
}
/** The runner's status changed. */
export interface SessionStatus {
  type: 'session.status';
  status: Status;
}
/** The session's own record changed. */
export interface SessionUpdated {
  type: 'session.updated';
  session: SessionInfo;
}
/** Limit what this session may spend in all; without ``usd`` and ``tokens`` the limit is removed. */
export interface SetBudget {
  id: string;
  session?: string;
  type: 'budget';
  usd?: number;
  tokens?: number;
  /** Only show the limit. */
  tell: boolean;
}
/** Choose how freely the agent works in this session, from the next call on. */
export interface SetMode {
  id: string;
  session?: string;
  type: 'mode';
  /** ask, plan, accept-edits or bypass; ``default`` takes the configured one; None only shows the mode. */
  mode?: string;
}
/** Switch step mode, in which each request of this session is held until the user releases it. */
export interface SetStepMode {
  id: string;
  type: 'step';
  session?: string;
  /** None only shows whether it is on. */
  on?: boolean;
}
/** Write or rewrite the session's share page. */
export interface Share {
  id: string;
  session?: string;
  type: 'share';
}
/** Draw what fills the model's context window, and what was removed from it. */
export interface ShowContext {
  id: string;
  type: 'context';
  session?: string;
  /** ``at 3`` shows request 3, ``changed 3 8`` compares two, ``why 5 8`` explains item 5 of request 8. */
  question: string;
}
/** Show an image of the session that its log keeps as a blob. */
export interface ShowImage {
  id: string;
  type: 'image';
  session?: string;
  /** The URL of the attachment: ``blob:`` and a hash. */
  url: string;
}
/** Measure the project's folder, and list or delete the sessions that may be deleted. */
export interface ShowStorage {
  id: string;
  type: 'storage';
  /** Age in days from which an unused session may be deleted; None means the configured number. */
  days?: number;
  /** Largest size of the folder: bytes, or text such as ``2GB``. */
  max_size?: number | string;
  /** Delete the sessions that may be deleted, for good. */
  delete: boolean;
  /** A cell shows what may be deleted, instead of the disk usage. */
  prune: boolean;
}
/** Send a prompt that joins the running turn, before its next request. */
export interface Steer {
  id: string;
  session?: string;
  text: string;
  model?: string;
  variant?: string;
  agent?: string;
  system?: string;
  tools?:
    | string[]
    | {
        [k: string]: boolean;
      };
  max_steps?: number;
  files: Attachment[];
  client?: string;
  type: 'steer';
}
/** Everything needed to rebuild one model request from the log. */
export interface StepRequest {
  /** ``req_...`` */
  id: string;
  purpose: 'step' | 'title' | 'turn-summary' | 'compaction' | 'subagent';
  /** The assistant message that this request fills. */
  message_id?: string;
  /**
   * Ids of the prompts whose turns a request for a turn summary includes, oldest first; the last turn is summarised.
   */
  turns: string[];
  model: ModelInfo;
  /** The parameters passed to the adapter: temperature, max_tokens, reasoning_effort, tool_choice. */
  parameters: {
    [k: string]: unknown;
  };
  policy?: Policy;
  policy_blob?: BlobRef;
  /** Version of the projection code. */
  projection: number;
  facts: Facts;
  system: BlobRef;
  tools: BlobRef;
  /** Number of the first items, which equal those of the request before and are not repeated here. */
  same: number;
  /** The items after the first ``same`` ones. */
  items: ContextItem[];
  /** Positions of the messages that carry a cache mark. */
  marks: number[];
  /** Hash over the hashes of all provider messages. */
  sha256: string;
  /** Estimated tokens of the whole request. */
  tokens: number;
  /** Estimated tokens by kind; the kinds are those of ``REQUEST_KINDS``. */
  kinds: {
    [k: string]: number;
  };
  opaque?: BlobRef;
  /** The rule of the hook that rewrote the request. */
  opaque_by?: string;
}
/** A model request is about to be sent. */
export interface StepRequested {
  type: 'step.requested';
  request: StepRequest;
}
/** Stop a running import; imported sessions stay, and a new import of the same source continues there. */
export interface StopImport {
  id: string;
  type: 'stop-import';
  /** The id of the import operation. */
  import_id: string;
}
/** The disk usage of the project's folder, in bytes, and the sessions that may be deleted. */
export interface StorageReport {
  total: number;
  logs: number;
  blobs: number;
  snapshots: number;
  share: number;
  other: number;
  sessions: StorageRow[];
  /** Sessions over the limits of age and size that may be deleted. */
  due: StorageRow[];
  /** Sessions over the limits that are never deleted. */
  spared: StorageRow[];
  /** Bytes of texts that no session needs any more, and that may be deleted. */
  unneeded: number;
  /** The sessions that were deleted; None when deleting was not requested. */
  gone?: StorageRow[];
}
/** The disk usage of a session, with the sessions that it began. */
export interface StorageRow {
  id: string;
  title: string;
  bytes: number;
  /** When it was last used, in milliseconds since 1970. */
  updated: number;
  /** Number of sessions that are deleted together. */
  with_children: number;
  /** Why it is never deleted. */
  why?: string;
}
/** A subagent: a session that a call of this session started. */
export interface SubagentView {
  session: string;
  title: string;
  /** The parent's request whose answer started the subagent; -1 where it is not known. */
  request: number;
  /**
   * The item of this session's call that started the subagent; -1 where another subagent did, or the call is not known.
   */
  call: number;
  requests: number;
  tokens: number;
  cost?: number;
  cost_is_fact: boolean;
}
/** Answer a ``cells`` notice with the cells of the page's notebooks; a piece, or the last piece. */
export interface TellCells {
  id: string;
  type: 'cells';
  client: string;
  request: string;
  /** Cells of one notebook may be in several pieces, in order. */
  notebooks: PageNotebook[];
  last: boolean;
}
/** The view of a session in an inspector, without texts. */
export interface TimelineView {
  version: number;
  session: string;
  title: string;
  /** The agent that recorded it: ``palimpsest``, or the name of a format. */
  origin: string;
  /** Whether the session can be written: its items can be pinned, left out and restored. */
  own: boolean;
  parent?: string;
  /** Number of the last record of the journal in the view; a live view asks for newer records. */
  seq: number;
  /** Views of the same epoch have the same ruler, so that one can be a patch of another; empty in a file. */
  epoch: string;
  /**
   * Whether proof, wastes, used items, subagents, policies and the recording's estimated figures are still to be
   * asked for.
   */
  is_picture: boolean;
  kinds: string[];
  models: string[];
  /** A sentence on the source of limits that the recording does not state; empty where there are none. */
  limit_words: string;
  items: ItemColumns;
  definitions: DefinitionColumns;
  requests: RequestColumns;
  cache_marks: MarkColumns;
  ruler: RulerView;
  price: PriceProfile;
  recorded: TrackView;
  proof?: ProofView;
  events: EventView[];
  breaks: BreakView[];
  break_notes: string[];
  wastes: Waste[];
  waste_kinds: WasteKind[];
  /** For each request the items, ascending, with a name that its answer used. */
  used: number[][];
  subagents: SubagentView[];
  /** Items of the calls whose subagent's session is not stored. */
  missing_subagents: number[];
  /** The session through which this one was asked for, as its subagent; empty where it was asked for directly. */
  within: string;
  /** Sentences with numbers about the whole session. */
  totals: string[];
  /** Sentences on gaps in the recording. */
  gaps: string[];
  pruned: PruneView[];
  coming: ComingColumns;
  policies: PolicyOption[];
  /** Number of the first policies that a person gave; the first of all is shown when the view opens. */
  given_policies: number;
}
/** A session as recorded, or under a policy. */
export interface TrackView {
  /** Its name in the form that ``policies.get`` reads; ``recorded`` for the recording. */
  policy: string;
  /** The first request that differs from the recording; from there on the track is an estimate. */
  facts_until?: number;
  transitions: TransitionColumns;
  /** Phrases with the rule and numbers of a transition: the end of a sentence. */
  words: string[];
  /** Tokens of each request by the ruler, including those that the recording does not show; scaled. */
  total: number[];
  /** Tokens of ``total`` that the request before begins with, too; scaled. */
  prefix: number[];
  /** Tokens of ``prefix`` that the cache held; scaled. */
  read: number[];
  output: number[];
  /** Estimated cost of each request with its summaries, in the money of ``PriceProfile``. */
  cost: number[];
  /** The requests at which the rule acted. */
  fired: number[];
  /** The requests whose unexplained cache loss is taken from the recording. */
  taken: number[];
  figures?: PolicyFigures;
  facts?: PolicyFigures;
}
/** Transitions, in the order of requests: from ``request`` on, ``item`` is shown in another state. */
export interface TransitionColumns {
  item: number[];
  request: number[];
  state: ('whole' | 'truncated' | 'cleared' | 'masked' | 'summarised' | 'offloaded' | 'out' | 'reverted')[];
  /** Tokens that are shown instead, by the ruler's estimator. */
  tokens: number[];
  /** Indexes in ``TrackView.words``. */
  words: number[];
}
/** Tokens that were paid for without use. */
export interface Waste {
  /** Cost in the profile's unit. */
  cost: number;
  sentence: string;
  link: string;
  /** Index of the request, from 0. */
  request: number;
  /** Whether the waste is known from reported usage; else it is an estimate. */
  is_fact: boolean;
  /** Whether the cost was recorded, or follows recorded prices; else it is an estimate, even for reported tokens. */
  cost_is_fact: boolean;
  /** The wasted item, from 0; None for a whole request. */
  item?: number;
}
/** All wastes of one kind together, including those that are not among the largest. */
export interface WasteKind {
  /** Number and kind of the wastes. */
  words: string;
  cost: number;
  /** Whether all costs were recorded, or follow recorded prices. */
  cost_is_fact: boolean;
  /** ``break``, ``again``, ``unused``, ``large``, ``idle``, ``aborted`` or ``subagent``. */
  kind: string;
  count: number;
}
/** The todo list was replaced. */
export interface TodoUpdated {
  type: 'todo.updated';
  todos: Todo[];
}
/** A precomputed track, for a view without a kernel. */
export interface TrackStop {
  policy: string;
  numbers: {
    [k: string]: number;
  };
  track: TrackView;
}
/** Trust the settings of this project's files, or withdraw that trust. */
export interface TrustProject {
  id: string;
  type: 'trust';
  trusted: boolean;
}
/** Delete the session's share page. */
export interface Unshare {
  id: string;
  type: 'unshare';
  session?: string;
}
/** Stop sending records to this page. */
export interface Unwatch {
  id: string;
  type: 'unwatch';
  client: string;
  session?: string;
}
/** Use the summary that was set aside, instead of a newer summary or a held request for a summary. */
export interface UseOlderSummary {
  id: string;
  session?: string;
  hold: string;
  type: 'older-summary';
}
/** Choose the context policy, from the next request on. */
export interface UsePolicy {
  id: string;
  type: 'policy';
  session?: string;
  /** The id of a held request whose session is changed instead, such as a subagent's. */
  hold?: string;
  /** The name of a preset, ``name=value`` for one number, or ``default``; empty only shows the policy. */
  words: string[];
}
/** The names of an item that the answer to a request used. */
export interface UsedNames {
  request: number;
  /** At most ``MAX_USED_NAMES``, in the answer's order; data, not markup. */
  names: string[];
  /** Number of all names of the item that the answer used. */
  total: number;
}
/** The answer to one question: one of its fields is set, or ``error``. */
export interface ViewAnswer {
  view?: TimelineView;
  patch?: ViewPatch;
  track?: TrackView;
  item?: ItemText;
  /** The first answers that used names of the item, at most ``MAX_USES``. */
  uses?: UsedNames[];
  request?: RequestText;
  compaction?: CompactionText;
  notes?: NotesText;
  search?: SearchedTexts;
  comparison?: SessionComparison;
  /** Whether the front end's view, or its comparison, is the newest. */
  unchanged: boolean;
  /** How long the answer took in the kernel. */
  milliseconds: number;
  /** One sentence with a way to correct the question. */
  error: string;
}
/** A newer view, without the values of its lists that an older view has, too. */
export interface ViewPatch {
  after: number;
  kept: {
    [k: string]: number[];
  };
  view: TimelineView;
}
/** Send this page the session's records for the next 20 seconds. */
export interface Watch {
  id: string;
  type: 'watch';
  client: string;
  /** None means every session of this kernel. */
  session?: string;
  /** This page answers a ping by another ``Watch``. */
  pings: boolean;
  /** This page shows notebooks of the kernel, and can send their cells. */
  cells: boolean;
}
/** Withdraw a waiting prompt; without an id the newest, or all of them. */
export interface Withdraw {
  id: string;
  type: 'withdraw';
  session?: string;
  prompt_id?: string;
  which: 'newest' | 'all';
}
/** Write, change or remove a note on a session, or on a session of a recording; numbers count from 1. */
export interface WriteNote {
  id: string;
  type: 'note';
  /** None means the notebook's session; with ``path``, a session of the recording, or None for its first. */
  session?: string;
  /** A recorded file or folder, from the kernel's start directory; the note is written beside it. */
  path?: string;
  /** The id of the note to change or to remove; empty for a new one. */
  note: string;
  remove: boolean;
  /** None leaves the text of a note that is changed, as with tag and verdict. */
  text?: string;
  tag?: string;
  verdict?: '' | 'good' | 'bad' | 'unsure';
  /** Empty for the user's name. */
  author: string;
  request?: number;
  /** An item by its number; with ``request`` as that request shows it. */
  item?: number;
  /** The last request of a range that begins with ``request``. */
  last?: number;
  /** The request that lost the cache. */
  cache_break?: number;
  compaction?: number;
}
/** What operations answer, by their types; all others answer `Done`. */
export interface Answers {
  config: ListedSettings;
  sessions: ListedSessions;
  children: ListedSessions;
  open: SessionAnswer;
  new: SessionAnswer;
  fork: SessionAnswer;
  branches: ListedBranches;
  prompt: SessionAnswer;
  queue: SessionAnswer;
  steer: SessionAnswer;
  loop: SessionAnswer;
  retry: SessionAnswer;
  compact: SessionAnswer;
  context: DrawnText;
  revert: RevertAnswer;
  'review-cells': CellReview;
  why: CellHistory;
  approvals: ListedApprovals;
  choices: Choices;
  extensions: Extensions;
  storage: StorageReport;
  share: ExportedFile;
  export: ExportedFile;
  import: ImportedSessions;
  note: ViewAnswer;
  image: Image;
  close: DrawnText;
  'recreate-outputs': RecreatedOutputs;
  mentions: MentionList;
  'mention-preview': PreviewedMentions;
  attach: PastedFile;
  'prompt-history': ListedPrompts;
  inspect: ViewAnswer;
  buttons: ListedButtons;
  arguments: ProposedArguments;
}

/**
 * The types of parts that this version knows.
 */
export const PART_TYPES: readonly Part['type'][] = [
  'agent',
  'compaction',
  'file',
  'notebook',
  'patch',
  'reasoning',
  'retry',
  'snapshot',
  'step-finish',
  'step-start',
  'subtask',
  'text',
  'tool'
];

export const PROTOCOL_VERSION = 4 as const;
export const RUN_KEY = "palimpsest_run" as const;
export const VIEW_VERSION = 2 as const;
export const STATE_WORDS = {"truncated": "cut short", "cleared": "cleared", "masked": "masked", "summarised": "replaced by a summary", "offloaded": "moved to a file", "out": "left out", "reverted": "taken back"} as const;
export const GONE_STATES = ["out", "reverted", "summarised"] as const;
export const ROLES = {"system": "system", "tools": "system", "instructions": "system", "assistant": "assistant", "reasoning": "assistant", "call": "assistant", "output": "tool"} as const;
export const MAX_BLOCKS = 200 as const;
export const EXCERPT_CHARS = 160 as const;
export const MAX_SEARCHED = 500 as const;
export const MAX_USES = 8 as const;
export const MAX_USED_NAMES = 3 as const;
export const BLOCK_CHARS = 2000 as const;
export const INSPECTOR_TABS = ["compared", "timeline", "items", "requests", "cost", "wastes", "notes"] as const;
export const INSPECTOR_PARTS = ["tracks", "sentence", "policy", "grid", "card", "difference", "window", "requests", "request", "search", "compactions", "cost", "figures", "breaks", "wastes", "totals"] as const;
export const MAX_FACTOR_RATIO = 2.0 as const;
export const MIN_SCALED_TOKENS = 500 as const;
