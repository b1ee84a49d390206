//! The system calls, wrapped so that their callers need no `unsafe`.

use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_OBJECT_0};
use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JOBOBJECTINFOCLASS, JobObjectBasicAccountingInformation, JobObjectBasicProcessIdList,
    JobObjectExtendedLimitInformation, QueryInformationJobObject, SetInformationJobObject,
    TerminateJobObject,
};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED, CreateEventW, GetExitCodeProcess, INFINITE,
    OpenThread, ResumeThread, SetEvent, THREAD_SUSPEND_RESUME, WaitForMultipleObjects,
};

use super::super::LEAST_SPACE;

/// A process starts suspended, so that it is in its job before it runs, and in a
/// group of its own, so that Ctrl-C reaches only this process.
pub(super) const SUSPENDED: u32 = CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP;

/// The exit code of processes that are ended.
const ENDED: u32 = 1;

/// Makes an error of a call's result: 0 is failure.
fn check(done: i32) -> io::Result<()> {
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes ownership of a handle that the system made for us.
fn own(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is a handle, and nobody else's.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// A program and everything that it starts.
#[derive(Debug)]
pub(super) struct JobObject(OwnedHandle);

/// The processor time of a job.
pub(super) struct Spent {
    /// Seconds in user mode.
    pub(super) user: f64,
    /// Seconds in the kernel.
    pub(super) kernel: f64,
}

impl JobObject {
    /// An empty job, whose processes end when it is dropped and when this process
    /// ends.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: both may be null: no name, usual rights.
        let job = JobObject(own(unsafe { CreateJobObjectW(null(), null()) })?);
        job.limit(JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)?;
        Ok(job)
    }

    fn limit(&self, flags: u32) -> io::Result<()> {
        // SAFETY: zeroed is no limit; the size is that of what is pointed to.
        check(unsafe {
            let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = std::mem::zeroed();
            limits.BasicLimitInformation.LimitFlags = flags;
            SetInformationJobObject(
                self.0.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            )
        })
    }

    /// Lets its processes live on when it is dropped.
    pub(super) fn release(&self) -> io::Result<()> {
        self.limit(0)
    }

    /// Adds a process, and everything that it starts from now on.
    pub(super) fn take(&self, process: BorrowedHandle<'_>) -> io::Result<()> {
        // SAFETY: both are open handles.
        check(unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process.as_raw_handle()) })
    }

    /// Ends all of its processes, if there are any.
    pub(super) fn end(&self) {
        // SAFETY: an open handle.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), ENDED) };
    }

    /// The processor time of its processes, the ended ones included.
    pub(super) fn spent(&self) -> io::Result<Spent> {
        // SAFETY: zeroed is a valid value.
        let mut account: JOBOBJECT_BASIC_ACCOUNTING_INFORMATION = unsafe { std::mem::zeroed() };
        self.ask(JobObjectBasicAccountingInformation, &mut account)?;
        // In steps of 100 ns.
        let seconds = |steps: i64| steps as f64 / 1e7;
        Ok(Spent { user: seconds(account.TotalUserTime), kernel: seconds(account.TotalKernelTime) })
    }

    /// The numbers of its processes; if there are very many, only the first ones.
    pub(super) fn members(&self) -> io::Result<Vec<u32>> {
        /// `JOBOBJECT_BASIC_PROCESS_ID_LIST` with more room.
        #[repr(C)]
        struct ProcessIdList {
            assigned: u32,
            listed: u32,
            numbers: [usize; 512],
        }
        let mut list = ProcessIdList { assigned: 0, listed: 0, numbers: [0; 512] };
        let asked = self.ask(JobObjectBasicProcessIdList, &mut list);
        // It is an error if there is not room for all, but then the list is full.
        if list.listed == 0 {
            asked?;
        }
        let numbers = list.numbers.iter().take(list.listed as usize);
        Ok(numbers.map(|&number| number as u32).collect())
    }

    fn ask<T>(&self, class: JOBOBJECTINFOCLASS, into: &mut T) -> io::Result<()> {
        // SAFETY: the callers pass the structure of that class; the size is its own.
        check(unsafe {
            QueryInformationJobObject(
                self.0.as_raw_handle(),
                class,
                std::ptr::from_mut(into).cast(),
                size_of::<T>() as u32,
                null_mut(),
            )
        })
    }
}

/// Resumes a suspended process by resuming its one thread.
pub(super) fn resume(process: u32) -> io::Result<()> {
    // SAFETY: it takes plain numbers.
    let list = own(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    // SAFETY: zeroed is a valid value except for the size, which is set.
    let mut thread: THREADENTRY32 = unsafe { std::mem::zeroed() };
    thread.dwSize = size_of::<THREADENTRY32>() as u32;
    // SAFETY: an open handle and a structure that carries its size.
    check(unsafe { Thread32First(list.as_raw_handle(), &raw mut thread) })?;
    loop {
        if thread.th32OwnerProcessID == process {
            // SAFETY: it takes plain numbers.
            let own_handle = unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, thread.th32ThreadID) };
            let thread = own(own_handle)?;
            // SAFETY: an open handle.
            return match unsafe { ResumeThread(thread.as_raw_handle()) } {
                u32::MAX => Err(io::Error::last_os_error()),
                _ => Ok(()),
            };
        }
        // SAFETY: as above.
        check(unsafe { Thread32Next(list.as_raw_handle(), &raw mut thread) })?;
    }
}

/// The exit code of a process that has ended. Those of crashes are negative.
pub(super) fn exit_code(process: BorrowedHandle<'_>) -> io::Result<i32> {
    let mut code = 0;
    // SAFETY: an open handle and a live local.
    check(unsafe { GetExitCodeProcess(process.as_raw_handle(), &raw mut code) })?;
    Ok(code.cast_signed())
}

/// The most memory that the process itself had at any time, bytes.
pub(super) fn peak_memory(process: BorrowedHandle<'_>) -> io::Result<u64> {
    // SAFETY: zeroed is a valid value, and the size is its own.
    unsafe {
        let mut memory: PROCESS_MEMORY_COUNTERS = std::mem::zeroed();
        let size = size_of_val(&memory) as u32;
        check(K32GetProcessMemoryInfo(process.as_raw_handle(), &raw mut memory, size))?;
        Ok(memory.PeakWorkingSetSize as u64)
    }
}

/// Whether the file system of the folder `path` has less than 1 MiB left for this
/// user. False where the system does not tell.
pub(crate) fn is_full(path: &Path) -> bool {
    let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0;
    // SAFETY: the path ends with a zero, and the number is a live local.
    let told =
        unsafe { GetDiskFreeSpaceExW(path.as_ptr(), &raw mut free, null_mut(), null_mut()) != 0 };
    told && free < LEAST_SPACE
}

/// An event that is set once and stays set.
#[derive(Debug)]
pub(super) struct ManualResetEvent(OwnedHandle);

impl ManualResetEvent {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: no attributes, no name; it stays set once it is.
        own(unsafe { CreateEventW(null(), 1, 0, null()) }).map(ManualResetEvent)
    }

    pub(super) fn set(&self) {
        // SAFETY: an open handle.
        unsafe { SetEvent(self.0.as_raw_handle()) };
    }
}

/// Why [`wait`] returned.
pub(super) enum WaitResult {
    /// The process has ended.
    Ended(Instant),
    /// The event is set.
    Asked,
    /// Neither yet.
    Nothing,
}

/// Waits until a process has ended, an event is set or `patience` is over.
pub(super) fn wait(
    process: BorrowedHandle<'_>,
    event: Option<&ManualResetEvent>,
    patience: Option<Duration>,
) -> io::Result<WaitResult> {
    let limit = patience.map_or(INFINITE, |patience| {
        // Rounded up, or else the last part of a millisecond would be a busy loop.
        u32::try_from(patience.as_micros().div_ceil(1000)).unwrap_or(INFINITE - 1).min(INFINITE - 1)
    });
    let process = process.as_raw_handle();
    let handles = [process, event.map_or(process, |event| event.0.as_raw_handle())];
    let count = if event.is_some() { 2 } else { 1 };
    // SAFETY: `count` open handles.
    let seen = unsafe { WaitForMultipleObjects(count, handles.as_ptr(), 0, limit) };
    match seen {
        WAIT_FAILED => Err(io::Error::last_os_error()),
        WAIT_OBJECT_0 => Ok(WaitResult::Ended(Instant::now())),
        seen if seen == WAIT_OBJECT_0 + 1 => Ok(WaitResult::Asked),
        _ => Ok(WaitResult::Nothing),
    }
}
