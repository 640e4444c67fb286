# The public names with their types, for type checkers and editors: at run time they are imported on first use,
# which a type checker takes for Any. A test compares the two.

from palimpsest.app.wiring import App as App
from palimpsest.app.wiring import tool as tool
from palimpsest.context_policies.interface.policy import Change as Change
from palimpsest.context_policies.interface.policy import Probe as Probe
from palimpsest.context_policies.own_policies.custom import policy as policy
from palimpsest.context_policies.own_policies.past_view import PastView as PastView
from palimpsest.context_policies.public_policies import policies as policies
from palimpsest.frontends.cell_turn.cell_failure import AgentTurnFailed as AgentTurnFailed
from palimpsest.ipython_extension import current_session as current_session
from palimpsest.ipython_extension import load_ipython_extension as load_ipython_extension
from palimpsest.ipython_extension import unload_ipython_extension as unload_ipython_extension
from palimpsest.project import agents as agents
from palimpsest.project import commands as commands
from palimpsest.project import config as config
from palimpsest.project import distrust as distrust
from palimpsest.project import import_session as import_session
from palimpsest.project import keyed_storage as keyed_storage
from palimpsest.project import models as models
from palimpsest.project import new_session as new_session
from palimpsest.project import open_session as open_session
from palimpsest.project import problems as problems
from palimpsest.project import prune as prune
from palimpsest.project import sessions as sessions
from palimpsest.project import skills as skills
from palimpsest.project import storage as storage
from palimpsest.project import trust as trust
from palimpsest.public.lesson import lesson as lesson
from palimpsest.public.recorded_session import open_recording as open_recording
from palimpsest.public.session_object import Session as Session
from palimpsest.recordings.reconstruction.redecision import redecide as redecide
from palimpsest.review.corpus.corpus import corpus as corpus
from palimpsest.review.recorded_sessions.session_comparison import (
    compare_sessions as compare_sessions,
)
from palimpsest.review.whatif import whatif as whatif
from palimpsest.session.extensions.hooks import hook as hook
from palimpsest.session.extensions.hooks import unhook as unhook
from palimpsest.session.interfaces.prompt_answer import Answer as Answer
from palimpsest.transcript.errors import UserError as UserError
from palimpsest.transcript.session_record.events import Event as Event
from palimpsest.transcript.session_record.events import Record as Record
from palimpsest.transcript.session_record.hook_values import Compacting as Compacting
from palimpsest.transcript.session_record.hook_values import CompactingEvent as CompactingEvent
from palimpsest.transcript.session_record.hook_values import DecideEvent as DecideEvent
from palimpsest.transcript.session_record.hook_values import PromptEvent as PromptEvent
from palimpsest.transcript.session_record.hook_values import Refuse as Refuse
from palimpsest.transcript.session_record.hook_values import RequestEvent as RequestEvent
from palimpsest.transcript.session_record.hook_values import SystemEvent as SystemEvent
from palimpsest.transcript.session_record.hook_values import SystemPrompt as SystemPrompt
from palimpsest.transcript.session_record.hook_values import ToolAfter as ToolAfter
from palimpsest.transcript.session_record.hook_values import ToolBefore as ToolBefore
from palimpsest.transcript.values import Reply as Reply

__version__: str
__all__: list[str]
